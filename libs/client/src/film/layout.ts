import type { Film, Lane, Step, StepKind } from './model.ts';
import { durationText } from './names.ts';
import { laneName, lastedText, stepsInOrder, stepText } from './told.ts';

/** In units of the picture, which is as wide as the page: few, so that letters are readable on a narrow one. */
const WIDTH = 720;
const NAME = 22;
const BAR = 20;
const LANE = NAME + BAR + 14;
const AXIS = 26;
const LETTER = 6.6;
const TICKS_MAX = 8;

export type Tone = 'good' | 'doubt' | 'dead' | 'busy';

/** The colour of a step: what a person needs to know first. */
const TONES: Readonly<Record<StepKind, Tone>> = {
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

export const LEGEND: readonly (readonly [tone: Tone, text: string])[] = [
  ['good', 'well'],
  ['doubt', 'nobody knows what runs'],
  ['dead', 'confirmed dead, or gone'],
  ['busy', 'on its way'],
];

export interface Tick {
  readonly x: number;
  /** The last heartbeat. */
  readonly isZero: boolean;
  /** Empty where there is no room. */
  readonly text: string;
}

export interface Bar {
  readonly step: Step;
  readonly tone: Tone;
  readonly x: number;
  readonly width: number;
  /** The longest form of the name that fits; empty: none does. */
  readonly label: string;
  readonly title: string;
}

export interface LaneLayout {
  readonly lane: Lane;
  readonly name: string;
  readonly nameY: number;
  readonly barY: number;
  readonly bars: readonly Bar[];
}

/** Where everything of a film is in its picture. */
export interface FilmLayout {
  readonly width: number;
  readonly height: number;
  readonly axisY: number;
  readonly barHeight: number;
  readonly ticks: readonly Tick[];
  readonly lanes: readonly LaneLayout[];
}

/** One lane for the node, each pod and each volume; time runs to the right. */
export function layoutOf(film: Film): FilmLayout {
  const told = stepsInOrder(film);
  const bar = (step: Step): Bar => {
    const x = xOf(film, step.fromMs);
    const width = Math.max(2, rounded(xOf(film, step.toMs) - x - 1));
    return { step, tone: TONES[step.kind], x, width, label: labelFor(step, width), title: stepText(told, step) };
  };
  const lanes = film.lanes.map((lane, index) => {
    const top = AXIS + index * LANE;
    return { lane, name: laneName(lane), nameY: top + 16, barY: top + NAME, bars: lane.steps.map(bar) };
  });
  return {
    width: WIDTH,
    height: AXIS + film.lanes.length * LANE,
    axisY: AXIS,
    barHeight: BAR,
    ticks: ticksOf(film),
    lanes,
  };
}

const xOf = ({ fromMs, toMs }: Film, atMs: number): number =>
  rounded(((atMs - fromMs) / Math.max(1, toMs - fromMs)) * WIDTH);

const rounded = (x: number): number => Math.round(x * 10) / 10;

const TICK_SECONDS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14_400, 43_200, 86_400];

/** Lines at whole times after the last heartbeat. */
function ticksOf(film: Film): readonly Tick[] {
  const span = (film.toMs - film.fromMs) / 1000;
  const every = (TICK_SECONDS.find((each) => span / each <= TICKS_MAX) ?? 86_400) * 1000;
  const ticks: Tick[] = [];
  const before = Math.max(0, Math.ceil((film.fromMs - film.lostMs) / every));
  for (let atMs = film.lostMs + before * every; atMs <= film.toMs; atMs += every) {
    const x = xOf(film, atMs);
    const text = durationText(atMs - film.lostMs).replace('.0s', 's');
    ticks.push({ x, isZero: atMs === film.lostMs, text: x < WIDTH - text.length * LETTER ? text : '' });
  }
  return ticks;
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
