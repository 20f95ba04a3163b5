// Changes what is wrong in the default theme for those who hear a page or use no mouse. axe finds these, see site.test.ts.

/** The changes, by the name of the component. */
const changes = {
  // The landing page has a main part, as all others have.
  VPHome: [
    [/<div\s+class="VPHome"/, '<main class="VPHome"'],
    [/<\/div>(\s*<\/template>\s*<style)/, "</main>$1"],
  ],
  // The name of the button is its text. What style.css shows is no text.
  VPNavBarSearchButton: [['<kbd class="DocSearch-Button-Key">K</kbd>', '<kbd class="DocSearch-Button-Key k"></kbd>']],
  // The search is a dialog with a list of links. A button and an option must contain no links.
  VPLocalSearchBox: [
    [
      /role="button"\s+:aria-owns="[^"]*"\s+aria-expanded="true"\s+aria-haspopup="listbox"\s+aria-labelledby="localsearch-label"/,
      'role="dialog" aria-modal="true" :aria-label="buttonText"',
    ],
    [
      /:aria-activedescendant="[^"]*"\s+aria-autocomplete="both"\s+:aria-controls="[^"]*"\s+aria-labelledby="localsearch-label"/,
      ':aria-label="buttonText"',
    ],
    [/:role="[^"]*"\s+:aria-labelledby="[^"]*"/, ""],
    [/:aria-selected="[^"]*"\s+role="option"/, ""],
    [/<kbd :aria-label/g, '<kbd role="img" :aria-label'],
    [/:aria-label="\[\.\.\.p\.titles, p\.title\][^"]*"/, ""],
  ],
};

/** Makes the plugin of Vite. The build fails if the theme no longer has what is changed. */
export function accessible() {
  return {
    name: "accessible",
    enforce: "pre",
    transform(code, id) {
      const name = /theme-default\/components\/(\w+)\.vue$/.exec(id)?.[1];
      if (name === undefined || !Object.hasOwn(changes, name)) return undefined;
      return changes[name].reduce((text, [from, to]) => {
        const changed = text.replace(from, to);
        if (changed === text) throw new Error(`${name} of the theme has no ${from}`);
        return changed;
      }, code);
    },
  };
}
