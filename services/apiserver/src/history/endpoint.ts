import type { ApiResponse } from '@holdfast/client';
import { HISTORY_API, type HistoryRange } from '@holdfast/client/history-documents';
import { forbiddenError, StatusError } from '@holdfast/machinery';
import { isOfNode } from '../authorization/node-incarnation.ts';
import { catchUp } from '../cache/reader.ts';
import type { Core } from '../core.ts';
import { jsonAnswer } from '../http/answers.ts';
import { historyPartsOf } from '../http/history-path.ts';
import { nothingThere } from '../http/not-served.ts';
import { methodNotAllowed } from '../http/refusals.ts';
import { refuseHalted } from '../objects/readable.ts';
import { answerChanges } from './changes-answer.ts';
import type { History, Sight } from './history.ts';
import { timeText, tooOld } from './moments.ts';
import { answerObjects } from './objects-answer.ts';
import { type HistoryRequest, pauseOf, sightOf } from './request.ts';
import { HistoryGone } from './segment-log.ts';

/** What happened, for who may read it now. */
export async function answerHistory(
  core: Core,
  {
    request,
    user,
    warnings,
  }: Pick<HistoryRequest, 'request' | 'user'> & { readonly warnings: { add(text: string): void } },
): Promise<ApiResponse> {
  const { history } = core;
  if (history === undefined) throw keepsNone();
  if (request.method !== 'GET') throw methodNotAllowed();
  if (isOfNode(user)) throw notForNodes();
  refuseHalted(core.store);
  await catchUp(core);
  const { what, place } = historyPartsOf(request.path);
  const asked = { core, history, request, user, warn: (text: string) => warnings.add(text), place };
  try {
    if (what === '' && place === '') return jsonAnswer(200, rangeOf(history, sightOf(history)));
    const answer = what === 'changes' ? answerChanges : what === 'objects' && place !== '' ? answerObjects : undefined;
    if (answer === undefined) return nothingThere();
    return await history.reads.run(user.name, async () => {
      await pauseOf(asked)();
      return answer(asked);
    });
  } catch (error) {
    if (error instanceof HistoryGone) throw tooOld(sightOf(history), 'that moment');
    throw error;
  }
}

function rangeOf(history: History, sight: Sight): HistoryRange {
  const { retentionMs, limitBytes } = history.options;
  return {
    kind: 'HistoryRange',
    apiVersion: HISTORY_API,
    oldest: { revision: String(sight.oldest), time: timeText(sight.oldestAt) },
    newest: { revision: String(sight.newest), time: timeText(sight.newestAt) },
    retentionSeconds: Math.floor(retentionMs / 1000),
    limitBytes,
    usedBytes: history.bytes,
  };
}

/** What a node may read follows from what runs there now, and a deleted object reveals nothing: the past has all of it. */
const notForNodes = (): StatusError =>
  forbiddenError({ group: 'holdfast.io', resource: 'history', name: '' }, 'a node reads no past');

const keepsNone = (): StatusError =>
  new StatusError({
    code: 404,
    reason: 'NotFound',
    message: 'this server keeps no history: start it with --history-retention=1h',
    details: {},
  });
