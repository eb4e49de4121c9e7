export interface DiffLine {
  readonly kind: 'same' | 'removed' | 'added' | 'gap';
  readonly text: string;
}

/** Comparisons of lines. Above it, texts are shown as replaced. */
const STEPS_MAX = 4_000_000;
/** Lines around a change that are shown. */
const CONTEXT = 3;

/** The lines of two texts that differ, each with a few lines around it. */
export function diffLines(before: string, after: string): readonly DiffLine[] {
  const [a, b] = [before.split('\n'), after.split('\n')];
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  const middle = compare(a.slice(head, a.length - tail), b.slice(head, b.length - tail));
  const same = (lines: readonly string[]): readonly DiffLine[] => lines.map((text) => ({ kind: 'same', text }));
  return withoutFarLines([...same(a.slice(0, head)), ...middle, ...same(a.slice(a.length - tail))]);
}

/** The longest common subsequence, by the table of its lengths. */
function compare(a: readonly string[], b: readonly string[]): readonly DiffLine[] {
  if (a.length * b.length > STEPS_MAX) return [...mark('removed', a), ...mark('added', b)];
  const width = b.length + 1;
  const lengths = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number): number => lengths[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const found: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) {
      found.push({ kind: 'same', text: a[i] ?? '' });
      i++;
      j++;
    } else if (at(i + 1, j) >= at(i, j + 1)) found.push({ kind: 'removed', text: a[i++] ?? '' });
    else found.push({ kind: 'added', text: b[j++] ?? '' });
  }
  return [...found, ...mark('removed', a.slice(i)), ...mark('added', b.slice(j))];
}

const mark = (kind: DiffLine['kind'], lines: readonly string[]): readonly DiffLine[] =>
  lines.map((text) => ({ kind, text }));

function withoutFarLines(lines: readonly DiffLine[]): readonly DiffLine[] {
  const near = new Set<number>();
  for (const [index, { kind }] of lines.entries()) {
    if (kind === 'same') continue;
    for (let i = index - CONTEXT; i <= index + CONTEXT; i++) near.add(i);
  }
  const shown: DiffLine[] = [];
  for (const [index, line] of lines.entries()) {
    if (near.has(index)) shown.push(line);
    else if (near.has(index - 1)) shown.push({ kind: 'gap', text: '' });
  }
  return shown.at(-1)?.kind === 'gap' ? shown.slice(0, -1) : shown;
}
