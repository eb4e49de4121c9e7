import { TransportError } from '@holdfast/client';
import { ClientProgram, PID } from '../client-program.ts';
import type { LensKind } from '../kind.ts';

export interface CrashSettings {
  /** `before`: the request is not applied; `after` (default): it is applied, and its answer is lost. */
  readonly moment?: 'before' | 'after';
  /** This process of the same machine is killed at the moment. */
  readonly pid?: number;
}

export const CRASH: LensKind<CrashSettings> = {
  summary: 'The connection is cut at a write, before it is applied or before its answer',
  isView: false,
  verbs: ['create', 'update', 'patch', 'delete', 'deletecollection'],
  settings: {
    moment: {
      type: 'string',
      enum: ['before', 'after'],
      description: 'before: the write is not applied. after (default): it is applied, and its answer is lost.',
    },
    pid: PID,
  },
  open: ({ moment = 'after', pid }, { onHit }) => {
    const program = new ClientProgram(pid);
    return {
      handle: async (asked, next) => {
        if (moment === 'after') await next(asked.request);
        program.kill();
        await onHit(asked);
        throw new TransportError(`a lens cut the connection ${moment} the write`, { possiblySent: moment === 'after' });
      },
    };
  },
};
