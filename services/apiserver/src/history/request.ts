import type { ApiRequest } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import type { User } from '../authentication/identity.ts';
import type { Core } from '../core.ts';
import type { History, Sight } from './history.ts';

export interface HistoryRequest {
  readonly core: Core;
  readonly history: History;
  readonly request: ApiRequest;
  readonly user: User;
  readonly warn: (text: string) => void;
  /** The path of the API behind `objects/` or `changes/`, with its first slash; '' when there is none. */
  readonly place: string;
}

/** Between parts of a read: others work, and nobody works for a client that is gone. */
export const pauseOf =
  ({ core, user, request }: HistoryRequest) =>
  (): Promise<void> | undefined => {
    if (request.signal?.aborted === true) throw clientGone();
    return core.turns.goOn(user);
  };

const clientGone = (): StatusError =>
  new StatusError({ code: 503, reason: 'ServiceUnavailable', message: 'the client did not wait for the answer' });

export function sightOf(history: History): Sight {
  const sight = history.sight();
  if (sight !== undefined) return sight;
  throw new StatusError({ code: 503, reason: 'ServiceUnavailable', message: 'the server is starting' });
}
