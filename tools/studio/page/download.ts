/** Offers data to the user as a file. */
export function download(whole: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(whole);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
