import { unlessGone } from '../engine-errors.ts';
import { type Engine, part } from './engine.ts';

/** A container may run for years. */
const UNBOUNDED_MS = 2 ** 31 * 1000;

/** Resolves when the container does not run any more, or is gone. */
export async function untilEnded(engine: Engine, id: string, signal: AbortSignal): Promise<void> {
  const path = `/containers/${part(id)}/wait`;
  const query = { condition: 'not-running' };
  await unlessGone(engine.json({ method: 'POST', path, query, signal, deadlineMs: UNBOUNDED_MS }));
}
