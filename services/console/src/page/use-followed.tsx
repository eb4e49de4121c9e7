import { useEffect, useState } from 'preact/hooks';
import { useShell } from './shell.tsx';

export interface Followed<T> {
  readonly found?: T;
  readonly failure: string;
}

export interface FollowOptions<T> {
  /** What is read: another key is another question. */
  readonly key: string;
  readonly read: (signal: AbortSignal) => Promise<T>;
  /** After this time it is read again; undefined: not before the key changes. */
  readonly again: (found: T | undefined) => number | undefined;
}

/** Reads something that no watch tells, again and again while the component is shown; a moment of the past once. */
export function useFollowed<T>({ key, read, again }: FollowOptions<T>): Followed<T> {
  const { machine, at } = useShell();
  const [known, setKnown] = useState<Followed<T>>({ failure: '' });
  const isPast = at.value !== '';
  useEffect(() => {
    const stop = new AbortController();
    const follow = async (): Promise<void> => {
      while (!stop.signal.aborted) {
        const next = await read(stop.signal).then(
          (found): Followed<T> => ({ found, failure: '' }),
          (error: unknown): Followed<T> => ({ failure: error instanceof Error ? error.message : String(error) }),
        );
        if (stop.signal.aborted) return;
        setKnown((before) => ({ ...before, ...next }));
        const wait = isPast ? undefined : again(next.found);
        if (wait === undefined) return;
        await machine.pause(wait);
      }
    };
    void follow();
    return () => stop.abort();
  }, [key, at.value]);
  return known;
}
