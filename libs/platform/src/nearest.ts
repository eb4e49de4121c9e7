/** A third of the letters may be wrong, at most two. */
const WRONG_PART = 3;
const WRONG_MAX = 2;

/** The one of these words that was probably meant. */
export function nearest(word: string, words: readonly string[]): string | undefined {
  const most = Math.min(WRONG_MAX, Math.floor(word.length / WRONG_PART));
  const [best] = words
    .map((each) => ({ each, wrong: each.startsWith(word) && word.length > 1 ? 0 : distance(word, each) }))
    .filter(({ wrong }) => wrong <= most)
    .sort((a, b) => a.wrong - b.wrong);
  return best?.each;
}

/** Letters that are missing, added, exchanged with their neighbour or other ones. */
function distance(a: string, b: string): number {
  let [before, last]: [readonly number[], readonly number[]] = [[], Array.from({ length: b.length + 1 }, (_, i) => i)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row.push(
        Math.min(
          (row[j - 1] ?? 0) + 1,
          (last[j] ?? 0) + 1,
          (last[j - 1] ?? 0) + (isSame ? 0 : 1),
          isSwapped ? (before[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
    [before, last] = [last, row];
  }
  return last[b.length] ?? 0;
}
