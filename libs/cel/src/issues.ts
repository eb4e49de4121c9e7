/** One error in an expression, with its position. */
export interface Issue {
  readonly offset: number;
  readonly message: string;
}

/** Formats issues with their line and a mark under the position. */
export function formatIssues(source: string, issues: readonly Issue[]): string {
  const lines = source.split('\n');
  return issues.map((issue) => formatIssue(lines, issue)).join('\n');
}

function formatIssue(lines: readonly string[], { offset, message }: Issue): string {
  let rest = offset;
  let row = 0;
  while (row < lines.length - 1 && rest > (lines[row] ?? '').length) {
    rest -= (lines[row] ?? '').length + 1;
    row += 1;
  }
  const line = (lines[row] ?? '').replaceAll('\t', ' ');
  return `ERROR: <input>:${row + 1}:${rest + 1}: ${message}\n | ${line}\n | ${'.'.repeat(rest)}^`;
}
