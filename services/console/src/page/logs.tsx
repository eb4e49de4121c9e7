import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiFailure } from '../state/api.ts';
import { LogBuffer } from '../state/log-lines.ts';
import { oncePerFrame } from '../state/machine.ts';
import { type ApiObject, containersOf } from '../state/object.ts';
import { PODS, pathOf } from '../state/routes.ts';
import { ContainerChoice } from './container-choice.tsx';
import { useShell } from './shell.tsx';

const TAIL = '1000';
const RECONNECT_MS = 1_000;
/** Lines that are drawn; all that are kept are searched. */
const DRAWN_MAX = 1_000;

export function Logs({ pod }: { readonly pod: ApiObject }): VNode {
  const containers = containersOf(pod);
  const [container, setContainer] = useState(containers.at(-1)?.name ?? '');
  const [isPrevious, setPrevious] = useState(false);
  const [words, setWords] = useState('');
  const { lines, failure } = useLog(pod, container, isPrevious);
  const found = lines(words).slice(-DRAWN_MAX);
  const end = useRef<HTMLPreElement>(null);
  useEffect(() => {
    const box = end.current;
    if (box !== null && words === '') box.scrollTop = box.scrollHeight;
  });
  return (
    <div class="logs">
      <div class="filters">
        <ContainerChoice containers={containers} chosen={container} choose={setContainer} />
        <label>
          Search
          <input type="search" value={words} onInput={(event) => setWords(event.currentTarget.value)} />
        </label>
        <label class="check">
          <input type="checkbox" checked={isPrevious} onChange={(event) => setPrevious(event.currentTarget.checked)} />
          The run before
        </label>
      </div>
      {failure !== '' && <p class="refusal">{failure}</p>}
      <pre class="code log" ref={end} tabIndex={0} role="region" aria-label={`Log of ${container}`}>
        {found.length === 0 ? 'No lines.' : found.join('\n')}
      </pre>
    </div>
  );
}

function useLog({ metadata }: ApiObject, container: string, isPrevious: boolean) {
  const { api, machine } = useShell();
  const tick = useSignal(0);
  const [failure, setFailure] = useState('');
  const buffer = useRef(new LogBuffer());
  useEffect(() => {
    const stop = new AbortController();
    const kept = new LogBuffer();
    buffer.current = kept;
    setFailure('');
    const changed = oncePerFrame(machine, () => {
      tick.value++;
    });
    const follow = async (): Promise<void> => {
      const path = `${pathOf(PODS, metadata.namespace ?? '', metadata.name)}/log`;
      const query = { container, tailLines: TAIL, ...(isPrevious ? { previous: 'true' } : { follow: 'true' }) };
      for await (const text of await api.stream(path, { query, accept: '*/*', signal: stop.signal })) {
        kept.take(text);
        changed();
      }
    };
    const followAgain = async (): Promise<void> => {
      while (!stop.signal.aborted) {
        try {
          return await follow();
        } catch (error) {
          if (stop.signal.aborted) return;
          if (error instanceof ApiFailure) return setFailure(error.message);
          // The connection broke: the same lines are read anew.
          kept.clear();
          await machine.pause(RECONNECT_MS);
        }
      }
    };
    void followAgain();
    changed();
    return () => stop.abort();
  }, [metadata.uid, container, isPrevious]);
  return { lines: (words: string) => (tick.value, buffer.current.matching(words)), failure };
}
