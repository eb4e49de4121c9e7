import type { HistoryChange } from '@holdfast/client/history-documents';
import { formatTime, parseTime } from '@holdfast/platform';
import { chart, type Fault } from './chart.ts';
import { element, Markup } from './markup.ts';
import { STYLE } from './page-style.ts';
import { deedOf, differenceText, isBlind, objectName, seenText, writerOf } from './story.ts';

/** More would make a page that no browser shows. */
export const SHOWN_MAX = 2_000;

export interface PageFacts {
  readonly title: string;
  /** Sentences about what is shown. */
  readonly facts: readonly string[];
  /** Drawn in red. */
  readonly fault?: Fault | undefined;
}

/** One HTML file that needs nothing else: no script, no network. The newest changes are shown. */
export function historyPage(changes: readonly HistoryChange[], { title, facts, fault }: PageFacts): string {
  const shown = changes.slice(-SHOWN_MAX);
  const left = changes.length - shown.length;
  const cut = left === 0 ? [] : [`The first ${left} changes are left out here.`];
  const drawn = isShown(fault, shown, left) ? fault : undefined;
  const head = element('head', {}, [
    new Markup('<meta charset="utf-8"/>'),
    new Markup(`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'"/>`),
    new Markup('<meta name="viewport" content="width=device-width"/>'),
    element('title', {}, title),
    new Markup(`<style>${STYLE}</style>`),
  ]);
  const body = element('body', {}, [
    element('h1', {}, title),
    ...[...facts, ...cut, ...verdicts(shown)].map((fact) => element('p', { class: 'fact' }, fact)),
    ...(fault === undefined ? [] : [element('p', { class: 'fault-fact' }, faultText(fault, drawn !== undefined))]),
    legend(),
    chart(shown, drawn),
    words(shown),
  ]);
  return `<!doctype html>\n${element('html', { lang: 'en' }, [head, body]).text}\n`;
}

/** A line at the edge would say that the fault came between what is left out and what is shown. */
function isShown(fault: Fault | undefined, shown: readonly HistoryChange[], left: number): boolean {
  const [first] = shown;
  if (fault === undefined || first === undefined) return false;
  return left === 0 || (parseTime(first.time) ?? 0) <= fault.atMs;
}

const faultText = ({ atMs, text }: Fault, isDrawn: boolean): string =>
  isDrawn
    ? `The red line: ${text}.`
    : `The fault is not among the changes that are shown. It came at ${formatTime(atMs)}: ${text}.`;

function verdicts(changes: readonly HistoryChange[]): readonly string[] {
  const refused = changes.filter(({ type }) => type === 'refused').length;
  const blind = changes.filter(isBlind).length;
  return [
    `${changes.length} changes, of which ${refused} were refused because another write came first or the object was there.`,
    `${blind} replaced a state that had not been sent to their writer.`,
  ];
}

const LEGEND = [
  ['created', 'created'],
  ['updated', 'changed'],
  ['deleted', 'removed'],
  ['refused', 'refused (409)'],
  ['blind', 'replaced a state that its writer had not seen'],
] as const;

function legend(): Markup {
  const keys = LEGEND.map(([shape, text]) =>
    element('span', { class: 'key' }, [element('i', { class: `dot ${shape}` }, ''), element('span', {}, text)]),
  );
  const arrows = element(
    'span',
    { class: 'key' },
    'An arrow leads from the newest state that was seen to what was written.',
  );
  return element('div', { class: 'legend' }, [...keys, arrows]);
}

function words(changes: readonly HistoryChange[]): Markup {
  const heads = ['Time', 'Revision', 'Who', 'Did', 'Object', 'Had seen', 'What'].map((text) => element('th', {}, text));
  const rows = changes.map((change, index) =>
    element('tr', { id: `c${index}`, class: change.type === 'refused' || isBlind(change) ? 'fault' : '' }, [
      element('td', { class: 'time' }, change.time.slice(11, 23)),
      element('td', {}, change.revision),
      element('td', {}, writerOf(change)),
      element('td', {}, deedOf(change)),
      element('td', {}, objectName(change.object)),
      element('td', {}, seenText(change)),
      element('td', {}, whatOf(change)),
    ]),
  );
  const table = element('table', {}, [element('thead', {}, element('tr', {}, heads)), element('tbody', {}, rows)]);
  return element('section', {}, [element('h2', {}, 'In words'), table]);
}

function whatOf({ reason, diff = [] }: HistoryChange): readonly Markup[] {
  if (reason !== undefined) return [element('span', {}, reason)];
  return diff.map((each) => element('div', {}, differenceText(each)));
}
