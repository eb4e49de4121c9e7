/** What explore says about one small operator. */
export interface Row {
  readonly name: string;
  readonly bug: string;
  /** The number of the plan that found it; absent: not found. */
  readonly foundAt: number | undefined;
  readonly plan: string;
  readonly effect: string;
  /** Plans that accuse the correct twin, of those tried. */
  readonly accused: number;
  readonly tried: number;
}

const BEGIN = '<!-- planted bugs: node test/explore/table-main.ts -->';
const END = '<!-- end of planted bugs -->';

export function tableOf(rows: readonly Row[]): string {
  const lines = rows.map(
    ({ name, bug, foundAt, plan, effect, accused, tried }) =>
      `| \`${name}\`: ${bug} | ${foundAt === undefined ? 'not found' : plan} | ${effect} | ${accused} of ${tried} plans |`,
  );
  return [
    '| planted bug | found by | what is wrong at the end | twin accused by |',
    '| --- | --- | --- | --- |',
    ...lines,
  ].join('\n');
}

/** The page with this table between its marks. */
export function withTable(page: string, table: string): string {
  const [before, rest = ''] = page.split(BEGIN, 2);
  const [, after] = rest.split(END, 2);
  if (after === undefined) throw new Error(`the page has no place for the table: ${BEGIN}`);
  return `${before}${BEGIN}\n\n${table}\n\n${END}${after}`;
}
