import { element, type Markup } from '../history/markup.ts';
import { causeText, laneName, lastedText, stepsInOrder, type ToldStep } from './lines.ts';
import type { Film, Lane, Step, StepKind } from './model.ts';
import { durationText } from './names.ts';

/** In units of the picture, which is as wide as the page: few, so that letters are readable on a narrow one. */
const WIDTH = 720;
const NAME = 22;
const BAR = 20;
const LANE = NAME + BAR + 14;
const AXIS = 26;
const LETTER = 6.6;
const TICKS_MAX = 8;

/** The colour of a step: what a person needs to know first. */
const TONES: Readonly<Record<StepKind, 'good' | 'doubt' | 'dead' | 'busy'>> = {
  heard: 'good',
  runs: 'good',
  attached: 'good',
  moved: 'good',
  silent: 'doubt',
  lost: 'doubt',
  unknown: 'doubt',
  leaving: 'doubt',
  fencing: 'busy',
  returned: 'busy',
  waiting: 'busy',
  starts: 'busy',
  fenced: 'dead',
  ended: 'dead',
  absent: 'dead',
  free: 'dead',
};

/** One lane for the node, each pod and each volume; time runs to the right. */
export function drawing(film: Film): Markup {
  const told = stepsInOrder(film);
  const height = AXIS + film.lanes.length * LANE;
  const title = element(
    'title',
    {},
    `${film.node}: what happened, when, and for how long. The list below says the same.`,
  );
  const svg = element('svg', { viewBox: `0 0 ${WIDTH} ${height}`, width: WIDTH, height, role: 'img' }, [
    title,
    ...axis(film, height),
    ...film.lanes.flatMap((lane, index) => drawLane(film, told, lane, AXIS + index * LANE)),
  ]);
  return element('div', { class: 'picture', tabindex: 0 }, svg);
}

const xOf = ({ fromMs, toMs }: Film, atMs: number): number =>
  rounded(((atMs - fromMs) / Math.max(1, toMs - fromMs)) * WIDTH);

const rounded = (x: number): number => Math.round(x * 10) / 10;

const TICK_SECONDS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14_400, 43_200, 86_400];

/** Lines at whole times after the last heartbeat. */
function axis(film: Film, height: number): readonly Markup[] {
  const span = (film.toMs - film.fromMs) / 1000;
  const every = (TICK_SECONDS.find((each) => span / each <= TICKS_MAX) ?? 86_400) * 1000;
  const ticks: Markup[] = [];
  const before = Math.max(0, Math.ceil((film.fromMs - film.lostMs) / every));
  for (let atMs = film.lostMs + before * every; atMs <= film.toMs; atMs += every) {
    const x = xOf(film, atMs);
    const kind = atMs === film.lostMs ? 'tick zero' : 'tick';
    ticks.push(element('line', { class: kind, x1: x, x2: x, y1: AXIS - 6, y2: height }, ''));
    const text = durationText(atMs - film.lostMs).replace('.0s', 's');
    if (x < WIDTH - text.length * LETTER) ticks.push(element('text', { class: 'time', x: x + 3, y: 14 }, text));
  }
  return ticks;
}

function drawLane(film: Film, told: readonly ToldStep[], lane: Lane, top: number): readonly Markup[] {
  const name = element('text', { class: 'name', x: 0, y: top + 16 }, laneName(lane));
  return [name, ...lane.steps.map((step) => bar(film, told, step, top + NAME))];
}

function bar(film: Film, told: readonly ToldStep[], step: Step, y: number): Markup {
  const from = xOf(film, step.fromMs);
  const width = Math.max(2, rounded(xOf(film, step.toMs) - from - 1));
  const cause = causeText(told, step);
  const because = cause === '' ? '' : `, because of ${cause}`;
  const said = element('title', {}, `${step.name} (${lastedText(step)})${because}`);
  const box = element('rect', { class: `bar ${TONES[step.kind]}`, x: from, y, width, height: BAR, rx: 3 }, said);
  const label = labelFor(step, width);
  const text = label === '' ? [] : [element('text', { class: 'label', x: from + 5, y: y + 14 }, label)];
  return element('a', { href: `#s${film.lostMs}-${step.id}` }, [box, ...text]);
}

/** The longest of these that fits: a cut word says nothing. */
function labelFor(step: Step, width: number): string {
  const lasted = step.isOpen ? '' : ` ${lastedText(step)}`;
  const short = SHORT[step.kind];
  const forms = [`${step.name}${lasted}`, step.name, `${short}${lasted}`, short, lasted.trim()];
  return forms.find((form) => form.length * LETTER + 8 <= width) ?? '';
}

const SHORT: Readonly<Record<StepKind, string>> = {
  heard: 'heartbeats',
  silent: 'silent',
  lost: 'not ready',
  fencing: 'being fenced',
  fenced: 'fenced',
  returned: 'returned',
  runs: 'runs',
  unknown: 'may be running',
  leaving: 'told to go',
  ended: 'dead',
  absent: 'gone',
  waiting: 'waits',
  starts: 'starts',
  attached: 'attached',
  free: 'detached',
  moved: 'attached',
};
