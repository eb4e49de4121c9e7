import { type Bar, type Film, LEGEND, layoutOf } from '@holdfast/client/film';
import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import { clockTime } from '../state/times.ts';

/** One lane for the node, each pod and each volume; time runs to the right. The steps below it say the same. */
export function FilmPicture({ film }: { readonly film: Film }): VNode {
  const { width, height, axisY, barHeight, ticks, lanes } = useMemo(() => layoutOf(film), [film]);
  const name = `What happened to ${film.node}, its pods and their volumes, and for how long`;
  return (
    <div class="film-picture" tabIndex={0} role="region" aria-label={name}>
      <svg viewBox={`0 0 ${width} ${height}`} width={width} height={height} role="img" aria-label={name}>
        {ticks.map(({ x, isZero, text }) => (
          <g key={x}>
            <line class={isZero ? 'tick zero' : 'tick'} x1={x} x2={x} y1={axisY - 6} y2={height} />
            {text !== '' && (
              <text class="time" x={x + 3} y={14}>
                {text}
              </text>
            )}
          </g>
        ))}
        {lanes.map((lane) => (
          <g key={lane.name}>
            <text class="name" x={0} y={lane.nameY}>
              {lane.name}
            </text>
            {lane.bars.map((bar) => (
              <BarView key={bar.step.id} bar={bar} y={lane.barY} height={barHeight} />
            ))}
          </g>
        ))}
      </svg>
    </div>
  );
}

interface BarProps {
  readonly bar: Bar;
  readonly y: number;
  readonly height: number;
}

const BarView = ({ bar: { tone, x, width, label, title }, y, height }: BarProps): VNode => (
  <g>
    <rect class={`bar ${tone}`} x={x} y={y} width={width} height={height} rx={3}>
      <title>{title}</title>
    </rect>
    {label !== '' && (
      <text class="label" x={x + 5} y={y + 14}>
        {label}
      </text>
    )}
  </g>
);

export const FilmLegend = ({ film: { lostMs } }: { readonly film: Film }): VNode => (
  <ul class="film-legend">
    {LEGEND.map(([tone, text]) => (
      <li key={tone}>
        <i class={`swatch ${tone}`} aria-hidden="true" /> {text}
      </li>
    ))}
    <li>0s is the last heartbeat, {clockTime(lostMs)}</li>
  </ul>
);
