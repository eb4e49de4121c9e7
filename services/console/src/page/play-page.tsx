import { useSignal } from '@preact/signals';
import type { TargetedSubmitEvent, VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { begin, end, type Play, readPlay, sentenceOf, stepOf, targetsOf } from '../state/play.ts';
import { useShell } from './shell.tsx';
import { TimeCard } from './time-card.tsx';

const REFRESH_MS = 2_000;
const SPANS = [
  ['10s', '10 seconds'],
  ['30s', '30 seconds'],
  ['2m', '2 minutes'],
  ['10m', '10 minutes'],
  ['', 'until I end it'],
] as const;

/** Faults of scenario files at the press of a button. */
export function PlayPage(): VNode {
  const { play, failure, run } = usePlay();
  return (
    <div class="page play">
      <div class="title">
        <h1>Play</h1>
        <span class="sum">This cluster was started for faults</span>
      </div>
      {failure !== '' && (
        <p class="refusal" role="alert">
          {failure}
        </p>
      )}
      {play !== undefined && <TimeCard clock={play.clock} run={run} />}
      {play !== undefined && <BeginForm play={play} run={run} />}
      {play !== undefined && <Lasting play={play} run={run} />}
    </div>
  );
}

interface PartProps {
  readonly play: Play;
  /** Resolves when it is done, or the page says why not. */
  readonly run: (work: () => Promise<unknown>) => Promise<void>;
}

function BeginForm({ play, run }: PartProps): VNode {
  const { api } = useShell();
  const [name, setName] = useState(play.kinds[0]?.do ?? '');
  const [wanted, setTarget] = useState('');
  const [lasts, setLasts] = useState('30s');
  const [value, setValue] = useState('');
  const kind = play.kinds.find((each) => each.do === name);
  if (kind === undefined) return <p class="empty">This cluster plays nothing.</p>;
  const targets = targetsOf(kind, play.targets);
  const target = targets.some((each) => each.name === wanted) ? wanted : (targets[0]?.name ?? '');
  const submit = (event: TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    void run(() => begin(api, stepOf(kind, { do: name, target, lasts, value })));
  };
  return (
    <form class="filters" onSubmit={submit}>
      <Choice label="Fault" value={name} set={setName} options={play.kinds.map((each) => [each.do, each.do])} />
      {targets.length > 0 && (
        <Choice label="Target" value={target} set={setTarget} options={targets.map((each) => [each.name, each.name])} />
      )}
      {kind.value !== undefined && (
        <label>
          {kind.value === 'loss' ? 'Share that is lost, such as 0.3' : 'Delay, such as 500ms'}
          <input required value={value} onInput={(event) => setValue(event.currentTarget.value)} />
        </label>
      )}
      <Choice label="Lasts" value={lasts} set={setLasts} options={SPANS} />
      <button type="submit" class="primary">
        Begin
      </button>
      <p class="muted">{sentenceOf(kind, target)}.</p>
    </form>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly set: (value: string) => void;
  /** Value and words. */
  readonly options: readonly (readonly [string, string])[];
}

const Choice = ({ label, value, set, options }: ChoiceProps): VNode => (
  <label>
    {label}
    <select value={value} onChange={(event) => set(event.currentTarget.value)}>
      {options.map(([each, words]) => (
        <option key={each} value={each}>
          {words}
        </option>
      ))}
    </select>
  </label>
);

function Lasting({ play: { faults, kinds }, run }: PartProps): VNode {
  const { api } = useShell();
  return (
    <section class="card" aria-labelledby="lasting">
      <h2 id="lasting">What lasts</h2>
      {faults.length === 0 && <p class="empty">Nothing is wrong on purpose.</p>}
      <ul>
        {faults.map((fault) => {
          const kind = kinds.find((each) => each.do === fault.do);
          const says = kind === undefined ? fault.do : sentenceOf(kind, fault.target ?? '');
          return (
            <li key={fault.id}>
              <button type="button" onClick={() => void run(() => end(api, fault.id))}>
                End
              </button>{' '}
              {says} <span class="muted">since {fault.begunAt}</span>
              {fault.endsAt !== undefined && <span class="muted"> until {fault.endsAt}</span>}
            </li>
          );
        })}
      </ul>
      {faults.length > 1 && (
        <button type="button" onClick={() => void run(() => end(api))}>
          End all
        </button>
      )}
    </section>
  );
}

function usePlay() {
  const shell = useShell();
  const { api, machine } = shell;
  const play = useSignal<Play | undefined>(undefined);
  const [failure, setFailure] = useState('');
  const turns = useRef({ asked: 0, shown: 0 }).current;
  const read = async (): Promise<void> => {
    turns.asked += 1;
    const turn = turns.asked;
    const answer = await readPlay(api);
    // An older question may be answered after a newer one.
    if (turn < turns.shown) return;
    turns.shown = turn;
    play.value = answer;
    await shell.tick();
  };
  const tell = (error: unknown): void => setFailure(error instanceof Error ? error.message : String(error));
  useEffect(() => {
    void read().catch(tell);
    // Faults end by themselves. A lost answer is asked for again.
    return machine.every(REFRESH_MS, () => void read().catch(() => undefined));
  }, []);
  const run = async (work: () => Promise<unknown>): Promise<void> => {
    setFailure('');
    await work().then(read).catch(tell);
  };
  return { play: play.value, failure, run };
}
