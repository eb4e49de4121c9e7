/**
 * `$(NAME)` becomes the variable's value, `$$(NAME)` the text `$(NAME)`, and a reference to an unknown variable stays as
 * it is. `undefined` when the result is longer than `maxBytes`: no more than that is ever made.
 */
export function expand(
  text: string,
  valueOf: (name: string) => string | undefined,
  maxBytes: number,
): string | undefined {
  const pieces: string[] = [];
  let bytes = 0;
  for (const piece of piecesOf(text, valueOf)) {
    bytes += Buffer.byteLength(piece);
    if (bytes > maxBytes) return undefined;
    pieces.push(piece);
  }
  return pieces.join('');
}

/** Visits every character once, even when references begin that never end. */
function* piecesOf(text: string, valueOf: (name: string) => string | undefined): Generator<string> {
  let at = 0;
  const lastClose = text.lastIndexOf(')');
  for (let dollar = text.indexOf('$'); dollar !== -1; dollar = text.indexOf('$', at)) {
    yield text.slice(at, dollar);
    const next = text[dollar + 1];
    if (next === '(' && dollar < lastClose) {
      const close = text.indexOf(')', dollar);
      at = close + 1;
      yield valueOf(text.slice(dollar + 2, close)) ?? text.slice(dollar, at);
    } else {
      at = dollar + (next === '$' ? 2 : 1);
      yield '$';
    }
  }
  yield text.slice(at);
}
