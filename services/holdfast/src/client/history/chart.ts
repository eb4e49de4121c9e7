import type { HistoryChange } from '@holdfast/client/history-documents';
import { parseTime } from '@holdfast/platform';
import { element, type Markup } from './markup.ts';
import { deedOf, isBlind, newestSeen, objectName, writerOf } from './story.ts';

const COLUMN = 18;
const LANE = 30;
const AXIS = 22;
const RADIUS = 5;
const LABEL_EVERY = 8;

/** What somebody did to a client, at a moment. */
export interface Fault {
  readonly atMs: number;
  readonly text: string;
}

/** Lanes of clients; a column for each change, so that a burst is as readable as a quiet minute. */
export function chart(changes: readonly HistoryChange[], fault?: Fault): Markup {
  const lanes = [...new Set(changes.map(writerOf))];
  const laneOf = new Map(lanes.map((name, index) => [name, index]));
  const at = (index: number): Point => ({
    x: COLUMN * (index + 1),
    y: AXIS + LANE * ((laneOf.get(writerOf(changes[index] ?? EMPTY)) ?? 0) + 0.5),
  });
  const [width, height] = [COLUMN * (changes.length + 1), AXIS + LANE * lanes.length];
  const names = lanes.map((name) => element('div', { class: 'name', title: name }, name));
  const drawn = element('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img' }, [
    element('title', {}, 'Lanes of clients, and arrows from what was seen to what was written'),
    ...lanes.map((_, index) => line(width, AXIS + LANE * (index + 0.5))),
    ...axis(changes),
    ...(fault === undefined ? [] : [faultLine(changes, fault, height)]),
    ...arrows(changes, at),
    ...changes.map((change, index) => mark(change, index, at(index))),
  ]);
  return element('div', { class: 'chart' }, [
    element('div', { class: 'names' }, names),
    element('div', { class: 'scroll' }, drawn),
  ]);
}

interface Point {
  readonly x: number;
  readonly y: number;
}

const EMPTY: HistoryChange = {
  revision: '',
  time: '',
  type: 'updated',
  object: { group: '', resource: '', name: '' },
};

const line = (width: number, y: number): Markup =>
  element('line', { class: 'lane', x1: 0, x2: width, y1: y, y2: y }, '');

function axis(changes: readonly HistoryChange[]): readonly Markup[] {
  return changes.flatMap(({ time }, index) =>
    index % LABEL_EVERY === 0 ? [element('text', { x: COLUMN * (index + 1), y: 14 }, time.slice(11, 19))] : [],
  );
}

/** Between the last change before the fault and the first one after it. */
function faultLine(changes: readonly HistoryChange[], { atMs, text }: Fault, height: number): Markup {
  const before = changes.filter(({ time }) => (parseTime(time) ?? 0) <= atMs).length;
  const x = COLUMN * (before + 0.5);
  return element('line', { class: 'fault-line', x1: x, x2: x, y1: 0, y2: height }, element('title', {}, text));
}

/** From the newest change that had been sent to the writer, where it is shown. */
function arrows(changes: readonly HistoryChange[], at: (index: number) => Point): readonly Markup[] {
  const revisions = changes.map(({ revision, type }) => (type === 'refused' ? 0 : Number(revision)));
  return changes.flatMap((change, index) => {
    const seen = Number(newestSeen(change) ?? 0);
    const cause = seen === 0 ? -1 : revisions.findLastIndex((each, i) => i < index && each !== 0 && each <= seen);
    if (cause < 0) return [];
    const [from, to] = [at(cause), at(index)];
    const bend = Math.min(LANE, (to.x - from.x) / 2);
    const d = `M${from.x} ${from.y} C${from.x + bend} ${from.y} ${to.x - bend} ${to.y} ${to.x - RADIUS} ${to.y}`;
    return [element('path', { class: `arrow ${faultOf(change)}`, d }, '')];
  });
}

const faultOf = (change: HistoryChange): string =>
  change.type === 'refused' ? 'refused' : isBlind(change) ? 'blind' : '';

function mark(change: HistoryChange, index: number, { x, y }: Point): Markup {
  const told = `${change.revision}: ${writerOf(change)} ${deedOf(change)} ${objectName(change.object)}`;
  const shape = isBlind(change) ? 'blind' : change.type;
  const dot = element('circle', { class: `mark ${shape}`, cx: x, cy: y, r: RADIUS }, element('title', {}, told));
  return element('a', { href: `#c${index}` }, dot);
}
