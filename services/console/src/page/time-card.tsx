import type { TargetedSubmitEvent, VNode } from 'preact';
import { useState } from 'preact/hooks';
import { advance, type PlayClock } from '../state/play.ts';
import { useShell } from './shell.tsx';

const STEPS = [
  ['10s', '10 seconds'],
  ['1m', '1 minute'],
  ['5m', '5 minutes'],
] as const;

interface TimeCardProps {
  readonly clock: PlayClock;
  readonly run: (work: () => Promise<unknown>) => Promise<void>;
}

/** The clock of the cluster, with hands where it has its own. */
export function TimeCard({ clock, run }: TimeCardProps): VNode {
  return (
    <section class="card" aria-labelledby="time">
      <h2 id="time">Time</h2>
      {clock.kind === 'virtual' ? (
        <Hands clock={clock} run={run} />
      ) : (
        <p class="empty">
          This cluster lives on the clock of its machine. Started with --clock=virtual, its time stands still until it
          is advanced here.
        </p>
      )}
    </section>
  );
}

function Hands({ clock, run }: TimeCardProps): VNode {
  const { api } = useShell();
  const [isMoving, setMoving] = useState(false);
  const [own, setOwn] = useState('');
  const pass = async (duration: string): Promise<void> => {
    setMoving(true);
    await run(() => advance(api, duration));
    setMoving(false);
  };
  const submit = (event: TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    void pass(own);
  };
  return (
    <form class="filters" onSubmit={submit}>
      <p>
        <output aria-label="Time of the cluster">{clock.now}</output>{' '}
        <span class="muted">{isMoving ? 'Time passes' : 'Time stands still'}</span>
      </p>
      {STEPS.map(([duration, words]) => (
        <button key={duration} type="button" disabled={isMoving} onClick={() => void pass(duration)}>
          Advance {words}
        </button>
      ))}
      <label>
        Another time, such as 90s
        <input required value={own} onInput={(event) => setOwn(event.currentTarget.value)} />
      </label>
      <button type="submit" disabled={isMoving}>
        Advance
      </button>
    </form>
  );
}
