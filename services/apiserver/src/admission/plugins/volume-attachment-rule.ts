import {
  EVENTS,
  type Event,
  fenceOf,
  findResource,
  NODES,
  type PersistentVolumeAttachment,
  type ResourceDefinition,
} from '@holdfast/api';
import { deepEqual, forbiddenError, invalid, invalidObject } from '@holdfast/machinery';
import { formatTime, invariant } from '@holdfast/platform';
import type { WriteOperation } from '@holdfast/store';
import { FENCER, isController } from '../../authentication/identity.ts';
import { isAllowed } from '../../authorization/chain.ts';
import { encodeStored } from '../../cache/stored-json.ts';
import { keyOf } from '../../objects/object-keys.ts';
import { type AdmissionDeps, type AdmissionPlugin, type AdmissionRequest, isCore, subjectOfRequest } from '../port.ts';
import { asVolume } from '../typed-objects.ts';

/**
 * Restricts who may detach a volume from a node. The controller clears an attachment without pods. All others break it,
 * which requires its own permission (`delete persistentvolumes/attachment`) or a confirmed fence, must name the state
 * of the volume, and leaves an Event in the same store write.
 */
export const createVolumeAttachmentRule = (deps: AdmissionDeps): AdmissionPlugin => ({
  name: 'VolumeAttachmentRule',
  handles: (request) =>
    request.operation === 'UPDATE' &&
    request.subresource === 'status' &&
    isCore(request, 'persistentvolumes') &&
    !deepEqual(attachmentOf(request.old), attachmentOf(request.object)),
  validate: async (request) => {
    const old = attachmentOf(request.old);
    if (old === undefined) return;
    const next = attachmentOf(request.object);
    if (isController(request.user)) return refuseHasty(request, old, next);
    if (next !== undefined)
      throw refusal(request, 'an attachment is cleared as a whole; the controller writes the next');
    if (request.user.name === FENCER) await refuseUnfenced(deps, request, old);
    else await refuseWithoutRight(deps, request);
    refuseBlind(request);
    if (!request.dryRun) leaveEvent(deps, request, old);
  },
});

const attachmentOf = (object: AdmissionRequest['object']): PersistentVolumeAttachment | undefined =>
  object === undefined ? undefined : asVolume(object).status.attachment;

/** A controller does not know what runs: it takes the names of pods off that are gone, and the node's own word comes next. */
function refuseHasty(
  request: AdmissionRequest,
  old: PersistentVolumeAttachment,
  next: PersistentVolumeAttachment | undefined,
): void {
  const isCleared = next === undefined && (old.pods ?? []).length === 0;
  if (isCleared || next?.nodeName === old.nodeName) return;
  throw refusal(request, `a controller may not take the volume from node ${old.nodeName} while it is in use there`);
}

async function refuseUnfenced(
  deps: AdmissionDeps,
  request: AdmissionRequest,
  { nodeName }: PersistentVolumeAttachment,
): Promise<void> {
  const node = await deps.reader.fresh(NODES, { name: nodeName });
  if (node === undefined || fenceOf(node) !== 'none') return;
  throw refusal(request, `the fence of node ${nodeName} is not confirmed`);
}

async function refuseWithoutRight(deps: AdmissionDeps, request: AdmissionRequest): Promise<void> {
  const reason = await isAllowed(deps.access.authorizers, request.user, {
    kind: 'resource',
    path: '',
    verb: 'delete',
    group: '',
    version: 'v1',
    namespace: '',
    resource: 'persistentvolumes',
    name: request.name,
    subresource: 'attachment',
    rest: '',
  });
  if (reason !== undefined) return;
  const right = 'verb "delete" on resource "persistentvolumes/attachment"';
  throw refusal(request, `breaking an attachment requires a separate permission (${right})`);
}

/** Without a revision the volume could be detached from a node that got it just now. */
function refuseBlind(request: AdmissionRequest): void {
  if (request.namesRevision?.() === true) return;
  const why = 'must be the one of the attachment to break: read the volume, look at its attachment, send its version';
  throw invalidObject({ group: '', kind: 'PersistentVolume', name: request.name }, [
    invalid('metadata.resourceVersion', '', why),
  ]);
}

const refusal = (request: AdmissionRequest, why: string): Error => forbiddenError(subjectOfRequest(request), why);

function leaveEvent(deps: AdmissionDeps, request: AdmissionRequest, broken: PersistentVolumeAttachment): void {
  const operation = creationOf(composeEvent(deps, request, broken));
  request.accompany({ write: async (volume, commit) => (await commit(volume, [operation])).result });
}

const EVENT_NAMESPACE = 'default';

function creationOf(event: Event): WriteOperation {
  const definition: ResourceDefinition | undefined = findResource(EVENTS.group, EVENTS.version, EVENTS.plural);
  invariant(definition !== undefined, 'events are served');
  definition.setDefaults(event);
  return {
    kind: 'create',
    key: keyOf(definition, EVENT_NAMESPACE, event.metadata.name ?? ''),
    value: encodeStored(event),
  };
}

const COMPONENT = 'apiserver';

function composeEvent(
  { clock, ids }: AdmissionDeps,
  { user, name, old }: AdmissionRequest,
  broken: PersistentVolumeAttachment,
): Event {
  const now = formatTime(clock.now());
  const { uid, resourceVersion } = old?.metadata ?? {};
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: {
      name: `${name}.${ids.suffix(EVENT_SUFFIX_CHARS)}`,
      namespace: EVENT_NAMESPACE,
      uid: ids.uuid(),
      creationTimestamp: now,
    },
    involvedObject: {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      name,
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
    reason: 'AttachmentBroken',
    message: messageOf(user.name, broken),
    type: 'Warning',
    source: { component: COMPONENT },
    reportingComponent: COMPONENT,
    reportingInstance: '',
    firstTimestamp: now,
    lastTimestamp: now,
    count: 1,
    eventTime: null,
  };
}

const EVENT_SUFFIX_CHARS = 16;

function messageOf(actor: string, { nodeName, pods = [] }: PersistentVolumeAttachment): string {
  const users = pods.map(({ namespace, name }) => `${namespace}/${name}`).join(', ');
  const who = users === '' ? 'no pod' : `pod(s) ${users}`;
  return `${actor} broke the attachment to node ${nodeName} (${who}): what still runs there must not write any more`;
}
