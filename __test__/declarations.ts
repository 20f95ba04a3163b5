import { fileURLToPath } from "node:url";
import ts from "typescript";

/** Returns the names that a declaration file declares for use at run time, and the members of its classes. */
export function declared(file: string) {
  const path = fileURLToPath(new URL(`../${file}`, import.meta.url));
  const program = ts.createProgram([path], {
    module: ts.ModuleKind.NodeNext,
    lib: ["lib.es2024.d.ts", "lib.esnext.disposable.d.ts"],
    strict: true,
  });
  const checker = program.getTypeChecker();
  const exported = checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(path)!)!);
  const values = exported
    .map((symbol) => (symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol))
    .filter((symbol) => symbol.flags & ts.SymbolFlags.Value);
  const methods = (name: string) => {
    const declaration = values.find((symbol) => symbol.name === name)?.valueDeclaration;
    if (declaration === undefined || !ts.isClassDeclaration(declaration)) throw new Error(`${name} is no class`);
    // An overloaded method is declared several times.
    return [...new Set(declaration.members.filter(ts.isMethodDeclaration).map((member) => member.name.getText()))];
  };
  return { names: values.map(({ name }) => name).toSorted(), methods };
}

/** Returns the methods of a class at run time, named as in a declaration file. */
export function methodsOf(constructor: { prototype: object }): string[] {
  return Reflect.ownKeys(constructor.prototype)
    .filter((key) => key !== "constructor")
    .map((key) => (key === Symbol.asyncDispose ? "[Symbol.asyncDispose]" : String(key)));
}
