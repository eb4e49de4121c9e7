import { type Bar, type Film, type FilmLayout, type LaneLayout, layoutOf } from '@holdfast/client/film';
import { element, type Markup } from '../history/markup.ts';

/** One lane for the node, each pod and each volume; time runs to the right. */
export function drawing(film: Film): Markup {
  const layout = layoutOf(film);
  const { width, height } = layout;
  const title = element(
    'title',
    {},
    `${film.node}: what happened, when, and for how long. The list below says the same.`,
  );
  const svg = element('svg', { viewBox: `0 0 ${width} ${height}`, width, height, role: 'img' }, [
    title,
    ...axis(layout),
    ...layout.lanes.flatMap((lane) => drawLane(film, layout, lane)),
  ]);
  return element('div', { class: 'picture', tabindex: 0 }, svg);
}

const axis = ({ ticks, axisY, height }: FilmLayout): readonly Markup[] =>
  ticks.flatMap(({ x, isZero, text }) => [
    element('line', { class: isZero ? 'tick zero' : 'tick', x1: x, x2: x, y1: axisY - 6, y2: height }, ''),
    ...(text === '' ? [] : [element('text', { class: 'time', x: x + 3, y: 14 }, text)]),
  ]);

const drawLane = (film: Film, layout: FilmLayout, { name, nameY, barY, bars }: LaneLayout): readonly Markup[] => [
  element('text', { class: 'name', x: 0, y: nameY }, name),
  ...bars.map((bar) => drawBar(film, layout, bar, barY)),
];

function drawBar(
  film: Film,
  { barHeight }: FilmLayout,
  { step, tone, x, width, label, title }: Bar,
  y: number,
): Markup {
  const said = element('title', {}, title);
  const box = element('rect', { class: `bar ${tone}`, x, y, width, height: barHeight, rx: 3 }, said);
  const text = label === '' ? [] : [element('text', { class: 'label', x: x + 5, y: y + 14 }, label)];
  return element('a', { href: `#s${film.lostMs}-${step.id}` }, [box, ...text]);
}
