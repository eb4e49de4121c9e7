import type { KubeObject } from '@holdfast/api';
import type { ApiResponse } from '@holdfast/client';
import { badRequest } from '@holdfast/machinery';
import { parseKey, type Revision } from '@holdfast/store';
import { CachedObject } from '../cache/cached-object.ts';
import { selects } from '../cache/selection.ts';
import { encodeStored } from '../cache/stored-json.ts';
import type { ResourceContext } from '../http/context.ts';
import { decodeContinue } from '../http/continue-token.ts';
import { selectingQuery } from '../http/history-path.ts';
import { type ListOptions, readListOptions } from '../http/list-options.ts';
import { negotiate, negotiateList } from '../http/negotiation.ts';
import { objectAnswer } from '../http/object-answer.ts';
import { encoderFor } from '../http/protobuf.ts';
import { waitForRevision } from '../http/wait-for-revision.ts';
import { convertAhead } from '../kinds/conversion.ts';
import { groupVersion } from '../objects/object-keys.ts';
import { asServed } from '../objects/stored-object.ts';
import { mapInTurns } from '../turns/map-in-turns.ts';
import { listAnswer, type Page } from '../verbs/list.ts';
import { yamlAnswer } from '../verbs/long-lists.ts';
import { missing } from '../verbs/write-results.ts';
import { type AskedPlace, readPlace } from './asked-place.ts';
import { readMoment, revisionAt, tooOld } from './moments.ts';
import { pastObjects } from './past-objects.ts';
import { type HistoryRequest, pauseOf, sightOf } from './request.ts';

const LEFT_OUT = { 'holdfast.io/contents': 'left out of the history' };

/** What a list, or a read of one object, would have answered at a revision. */
export async function answerObjects(asked: HistoryRequest): Promise<ApiResponse> {
  const { core, request, user, warn } = asked;
  const place = await readPlace(asked);
  const { info, definition } = place;
  const query = selectingQuery(request);
  const options = readListOptions(core, query, info, definition);
  const isOne = info.name !== '';
  const accepted = request.headers['accept'];
  const representation = isOne ? negotiate(accepted) : negotiateList(accepted);
  const context: ResourceContext = {
    request: { ...request, query },
    info,
    user,
    representation,
    warn,
    audit: undefined,
  };
  const revision = await wantedRevision(asked, options);
  await encoderFor(request);
  const objects = await objectsAt(asked, place, revision);
  if (!isOne) return listAnswer(core, context, definition, await pageOf(asked, place, { objects, options, revision }));
  const [object] = objects.filter(({ name }) => name === info.name);
  if (object === undefined) throw missing(definition, info.name);
  await convertAhead(core, definition, [object]);
  const served = asServed(definition, object);
  if (representation.shape === 'object' && representation.encoding === 'yaml') return yamlAnswer(core, context, served);
  return objectAnswer(core, context, definition, { status: 200, object: served });
}

async function wantedRevision({ core, history, request }: HistoryRequest, options: ListOptions): Promise<Revision> {
  const sight = sightOf(history);
  const moment = readMoment(request.query, { revision: 'revision', time: 'time' });
  const wanted = moment === undefined ? undefined : await revisionAt(history, sight, moment);
  if (options.continueToken !== undefined) {
    const { revision } = decodeContinue(options.continueToken);
    if (moment !== undefined && 'revision' in moment && revision !== wanted)
      throw badRequest(`the continue token is of revision ${revision}, not of ${moment.revision}`);
    return revision;
  }
  if (wanted === undefined) return sight.newest;
  await waitForRevision(core, wanted);
  return wanted;
}

async function objectsAt(
  asked: HistoryRequest,
  { prefix, within, definition }: AskedPlace,
  revision: Revision,
): Promise<readonly CachedObject[]> {
  const { core, history } = asked;
  const { group, resource } = parseKey(prefix);
  // Of one turn: what is present has exactly the changes that are recorded.
  const sight = sightOf(history);
  const present = core.cache.resource(group, resource).all(undefined);
  if (revision < sight.oldest) throw tooOld(sight, `revision ${revision}`);
  const objects = await pastObjects(history, sight, { present, prefix, within, revision, pause: pauseOf(asked) });
  const isLeftOut = history.leavesOut(within);
  return objects.map((object) => {
    const { key, name, namespace, revision: own, stored } = object;
    // It may have been encrypted then, and not now.
    if (!isLeftOut && stored !== '') return object;
    const metadata = { name, ...(namespace === '' ? {} : { namespace }), annotations: LEFT_OUT };
    const bare: KubeObject = { kind: definition.kind, apiVersion: groupVersion(definition), metadata };
    return new CachedObject(key, encodeStored(bare), own);
  });
}

interface Wanted {
  readonly objects: readonly CachedObject[];
  readonly options: ListOptions;
  readonly revision: Revision;
}

async function pageOf(
  { core, user }: HistoryRequest,
  { definition }: AskedPlace,
  { objects, options, revision }: Wanted,
): Promise<Page> {
  const { selection, limit, continueToken } = options;
  const { after } = continueToken === undefined ? { after: '' } : decodeContinue(continueToken);
  const candidates = objects.filter(({ key }) => key > after);
  if (selection.beforeConversion !== undefined) await convertAhead(core, definition, candidates);
  const turns = { turns: core.turns, user };
  const verdicts = await mapInTurns(turns, candidates, (each) => selects(selection, each));
  const selected = candidates.filter((_, i) => verdicts[i] === true);
  const shown = limit === undefined ? selected : selected.slice(0, limit);
  await convertAhead(core, definition, shown);
  const last = shown.at(-1);
  const more = selected.length - shown.length;
  return {
    objects: await mapInTurns(turns, shown, (each) => asServed(definition, each)),
    revision,
    since: core.clock.now(),
    ...(more === 0 || last === undefined ? {} : { lastKey: last.key }),
    ...(more === 0 || selection.matches !== undefined ? {} : { remaining: more }),
  };
}
