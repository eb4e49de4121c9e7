/** The beginning of a text that somebody else wrote. */
export const cutText = (text: string, charsMax: number): string =>
  text.length <= charsMax ? text : `${text.slice(0, charsMax)}...`;
