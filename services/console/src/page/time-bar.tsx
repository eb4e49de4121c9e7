import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect } from 'preact/hooks';
import { ageOf, clockTime, parse } from '../state/times.ts';
import { useShell } from './shell.tsx';

const REFRESH_MS = 15_000;
/** A list of the past costs the server something: the pages follow the handle with this delay. */
const SETTLE_MS = 120;
const STEP_MS = 1_000;
const FILM_TICK_MS = 500;
/** The film runs four times as fast as the cluster did. */
const FILM_STEP_MS = 2_000;

/** The kept history as a film: every page shows the chosen moment. */
export function TimeBar(): VNode | null {
  const shell = useShell();
  const { machine, range, at } = shell;
  const isPlaying = useSignal(false);
  const wanted = useSignal<number | undefined>(undefined);
  useEffect(() => machine.every(REFRESH_MS, () => void shell.refreshRange()), []);
  const begin = parse(range.value?.oldest.time ?? '');
  const end = Math.max(parse(range.value?.newest.time ?? '') ?? 0, shell.now.value);
  const show = (ms: number | undefined): void => {
    wanted.value = ms;
    void machine.pause(SETTLE_MS).then(() => {
      if (wanted.value === ms) at.value = ms === undefined ? '' : machine.iso(ms);
    });
  };
  useEffect(() => {
    if (!isPlaying.value) return undefined;
    return machine.every(FILM_TICK_MS, () => {
      const next = (wanted.value ?? end) + FILM_STEP_MS;
      if (next >= shell.now.value) isPlaying.value = false;
      show(next >= shell.now.value ? undefined : next);
    });
  }, [isPlaying.value]);
  if (begin === undefined) return null;
  const moment = wanted.value;
  const text =
    moment === undefined ? 'Now' : `${clockTime(moment)}, ${ageOf(machine.iso(moment), shell.now.value)} ago`;
  return (
    <footer class={moment === undefined ? 'time-bar' : 'time-bar past'} aria-label="Time">
      <button type="button" aria-pressed={moment === undefined} onClick={() => show(undefined)}>
        Now
      </button>
      <button
        type="button"
        disabled={moment === undefined}
        onClick={() => {
          isPlaying.value = !isPlaying.value;
        }}
      >
        {isPlaying.value ? 'Pause' : 'Play'}
      </button>
      <input
        type="range"
        aria-label="Moment"
        aria-valuetext={text}
        min={begin}
        max={end}
        step={STEP_MS}
        value={moment ?? end}
        onInput={(event) => {
          const chosen = Number(event.currentTarget.value);
          show(chosen >= end - STEP_MS ? undefined : Math.max(begin, chosen));
        }}
      />
      <output>{text}</output>
    </footer>
  );
}
