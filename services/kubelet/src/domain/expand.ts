/**
 * `$(NAME)` becomes the variable's value, `$$(NAME)` the text `$(NAME)`, and a reference to an unknown variable stays as
 * it is.
 */
export function expand(text: string, valueOf: (name: string) => string | undefined): string {
  return text.replace(/\$\$|\$\(([^)]*)\)/g, (match, name: string | undefined) => {
    if (name === undefined) return '$';
    return valueOf(name) ?? match;
  });
}
