import { element, Markup } from './markup.ts';
import type { Bar, Lane, Mark, Timeline } from './model.ts';
import { STYLE } from './style.ts';

/** More would make a page that no browser shows. */
const EVENTS_MAX = 2_000;
const BARS_MAX = 2_000;
const AXIS_STEPS_S = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_800, 3_600];
const AXIS_LABELS_MAX = 16;
const PIXELS_PER_SECOND = 9;
const [LEAST_PIXELS, MOST_PIXELS] = [760, 12_000];
const ROW_PIXELS = 18;
const SHADES = 6;

/** One HTML file that needs nothing else: no script, no network. */
export function renderTimeline(timeline: Timeline): string {
  const { title } = timeline;
  const head = element('head', {}, [
    new Markup('<meta charset="utf-8"/>'),
    new Markup(`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'"/>`),
    new Markup('<meta name="viewport" content="width=device-width"/>'),
    element('title', {}, title),
    new Markup(`<style>${STYLE}</style>`),
  ]);
  const body = element('body', {}, [heading(timeline), legend(), chart(timeline), events(timeline)]);
  return `<!doctype html>\n${element('html', { lang: 'en' }, [head, body]).text}\n`;
}

function heading({ title, facts, broken }: Timeline): Markup {
  const verdicts = broken.map(({ rule, story, atMs }) =>
    element('p', { class: 'verdict broken' }, [
      element('strong', {}, `Broken${atMs === undefined ? '' : ` at ${seconds(atMs)}`}: ${rule}`),
      element('span', { class: 'story' }, story),
    ]),
  );
  const whole = element('p', { class: 'verdict' }, [element('strong', {}, 'No rule is broken.')]);
  return element('header', {}, [
    element('h1', {}, title),
    ...facts.map((fact) => element('p', { class: 'fact' }, fact)),
    ...(broken.length === 0 ? [whole] : verdicts),
  ]);
}

const LEGEND = [
  ['bar fault', 'fault'],
  ['bar life s0', 'a process lives; another shade is another pod'],
  ['bar held', 'volume attached'],
  ['mark fact', 'stored or seen'],
  ['mark user', 'a user'],
  ['mark write', 'writes'],
] as const;

function legend(): Markup {
  const keys = LEGEND.map(([shape, text]) =>
    element('span', { class: 'key' }, [element('i', { class: shape }), element('span', {}, text)]),
  );
  return element('div', { class: 'legend' }, keys);
}

function chart(timeline: Timeline): Markup {
  const { fromMs, toMs, lanes, broken, healedMs } = timeline;
  const width = Math.round(Math.min(MOST_PIXELS, Math.max(LEAST_PIXELS, ((toMs - fromMs) / 1000) * PIXELS_PER_SECOND)));
  const x = (atMs: number): string => `${percent(atMs, timeline).toFixed(3)}%`;
  const line = (atMs: number, shape: string, text: string): Markup =>
    element('i', { class: `line ${shape}`, style: `left:${x(atMs)}`, title: text });
  const over = [
    ...(healedMs === undefined ? [] : [line(healedMs, 'healed', `the faults are over at ${seconds(healedMs)}`)]),
    ...broken.flatMap(({ atMs, rule }) => (atMs === undefined ? [] : [line(atMs, 'violation', rule)])),
  ];
  const rows: Markup[] = [axis(timeline, x)];
  let group = '';
  for (const lane of lanes) {
    if (lane.group !== group) rows.push(element('div', { class: 'group' }, lane.group));
    group = lane.group;
    rows.push(laneRow(lane, timeline, over));
  }
  return element('div', { class: 'scroll' }, element('div', { class: 'chart', style: `min-width:${width}px` }, rows));
}

function axis({ fromMs, toMs }: Timeline, x: (atMs: number) => string): Markup {
  const length = (toMs - fromMs) / 1000;
  const step = AXIS_STEPS_S.find((each) => length / each <= AXIS_LABELS_MAX) ?? length;
  const first = Math.ceil(fromMs / 1000 / step) * step;
  const count = Math.max(0, Math.floor((toMs / 1000 - first) / step) + 1);
  const ticks = Array.from({ length: count }, (_, index) => (first + index * step) * 1000).map((atMs) =>
    element('span', { class: 'tick', style: `left:${x(atMs)}` }, seconds(atMs)),
  );
  return row('axis', '', ticks);
}

function laneRow({ name, bars, marks }: Lane, timeline: Timeline, over: readonly Markup[]): Markup {
  const rows = stacked(bars.slice(0, BARS_MAX));
  const height = Math.max(1, ...rows.map(({ row: at }) => at + 1)) * ROW_PIXELS + 2;
  const drawn = rows.map(({ bar, row: at }) => drawBar(bar, at, timeline));
  const dots = marks.slice(0, EVENTS_MAX).map((mark) => drawMark(mark, timeline));
  return row('lane', name, [...drawn, ...dots, ...over], `height:${height}px`);
}

function row(shape: string, name: string, content: readonly Markup[], style = ''): Markup {
  return element('div', { class: shape }, [
    element('div', { class: 'name', title: name }, name),
    element('div', { class: 'track', ...(style === '' ? {} : { style }) }, content),
  ]);
}

function drawBar({ fromMs, toMs, kind, text, shade = 0 }: Bar, at: number, timeline: Timeline): Markup {
  const [left, right] = [percent(fromMs, timeline), percent(toMs, timeline)];
  const style = `left:${left.toFixed(3)}%;width:${Math.max(0.05, right - left).toFixed(3)}%;top:${at * ROW_PIXELS + 2}px`;
  const title = `${text}, ${seconds(fromMs)} to ${seconds(toMs)}`;
  return element('div', { class: `bar ${kind} s${Math.abs(shade) % SHADES}`, style, title }, text);
}

function drawMark({ atMs, kind, text }: Mark, timeline: Timeline): Markup {
  const style = `left:${percent(atMs, timeline).toFixed(3)}%`;
  return element('i', { class: `mark ${kind}`, style, title: `${seconds(atMs)}: ${text}` });
}

function percent(atMs: number, { fromMs, toMs }: Timeline): number {
  return Math.min(100, Math.max(0, ((atMs - fromMs) / Math.max(1, toMs - fromMs)) * 100));
}

/** Each bar goes into the first row that is free at its beginning. */
export function stacked(bars: readonly Bar[]): readonly { readonly bar: Bar; readonly row: number }[] {
  const free: number[] = [];
  return bars
    .toSorted((a, b) => a.fromMs - b.fromMs)
    .map((bar) => {
      const found = free.findIndex((until) => until <= bar.fromMs);
      const at = found === -1 ? free.length : found;
      free[at] = bar.toMs;
      return { bar, row: at };
    });
}

interface Event {
  readonly atMs: number;
  readonly where: string;
  readonly what: string;
  readonly shape: string;
}

/** Everything in words, in the order of time. */
function events({ lanes, broken }: Timeline): Markup {
  const all: Event[] = [
    ...lanes.flatMap(({ name, bars, marks }) => [
      ...bars.flatMap(({ kind, text, fromMs }) =>
        kind === 'life' ? [] : [{ atMs: fromMs, where: name, what: text, shape: kind }],
      ),
      ...marks.flatMap(({ kind, text, atMs }) =>
        kind === 'write' ? [] : [{ atMs, where: name, what: text, shape: kind }],
      ),
    ]),
    ...broken.flatMap(({ atMs, rule, story }) =>
      atMs === undefined ? [] : [{ atMs, where: rule, what: story, shape: 'violation' }],
    ),
  ].toSorted((a, b) => a.atMs - b.atMs);
  const shown = all.slice(-EVENTS_MAX);
  const left = all.length - shown.length;
  const rows = shown.map(({ atMs, where, what, shape }) =>
    element('tr', { class: shape }, [
      element('td', { class: 'time' }, seconds(atMs)),
      element('td', {}, where),
      element('td', {}, what),
    ]),
  );
  const title = `In words${left === 0 ? '' : ` (the last ${EVENTS_MAX} of ${all.length})`}`;
  return element('section', {}, [element('h2', {}, title), element('table', {}, [element('tbody', {}, rows)])]);
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(Math.abs(ms) % 1000 === 0 ? 0 : 2)} s`;
