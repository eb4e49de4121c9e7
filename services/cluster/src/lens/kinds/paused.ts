import { ClientProgram, PID } from '../client-program.ts';
import type { LensKind } from '../kind.ts';

export interface PausedSettings {
  /** `before`: the write is applied when the lens is off; `after` (default): it is applied, and its answer waits. */
  readonly moment?: 'before' | 'after';
  /** This process of the same machine stands still as long. */
  readonly pid?: number;
}

export const PAUSED: LensKind<PausedSettings> = {
  summary: 'The program stands still at a write, before it is applied or before its answer, until the lens is off',
  isView: true,
  verbs: ['create', 'update', 'patch', 'delete', 'deletecollection'],
  settings: {
    moment: {
      type: 'string',
      enum: ['before', 'after'],
      description: 'before: the write is applied when the lens is off. after (default): it is applied at once.',
    },
    pid: PID,
  },
  open: ({ moment = 'after', pid }, { onHit }) => {
    const program = new ClientProgram(pid);
    let pause = newPause();
    return {
      off: () => {
        if (pause.hasBegun) program.resume();
        pause.end();
        pause = newPause();
      },
      handle: async (asked, next) => {
        const mine = pause;
        const answer = moment === 'after' ? await next(asked.request) : undefined;
        await onHit(asked);
        // Turned off meanwhile: nobody would end this pause any more.
        if (mine === pause) {
          mine.hasBegun = true;
          program.pause();
        }
        await mine.ended;
        return answer ?? next(asked.request);
      },
    };
  },
};

interface Pause {
  hasBegun: boolean;
  readonly ended: Promise<void>;
  end(): void;
}

function newPause(): Pause {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { hasBegun: false, ended: promise, end: resolve };
}
