import type { MessageField, Messages } from './read-sources.ts';

const CORE = 'k8s.io.api.core.v1';

const field = (number: number, json: string, type: string, presence: MessageField['presence']): MessageField => ({
  number,
  json,
  type,
  presence,
  shape: 'one',
  inline: false,
});

/** Messages that only we have. */
const OWN_MESSAGES: Messages = new Map([
  [
    `${CORE}.PersistentVolumeAttachment`,
    [
      field(1, 'nodeName', 'string', 'printed'),
      field(2, 'nodeUID', 'string', 'printed'),
      { ...field(3, 'pods', `${CORE}.PersistentVolumeUser`, 'printed'), shape: 'list' },
      field(4, 'attachedAt', 'k8s.io.apimachinery.pkg.apis.meta.v1.Time', 'pointer'),
    ],
  ],
  [
    `${CORE}.PersistentVolumeUser`,
    [
      field(1, 'namespace', 'string', 'printed'),
      field(2, 'name', 'string', 'printed'),
      field(3, 'uid', 'string', 'printed'),
    ],
  ],
]);

/** Our fields in the messages of others begin here: Kubernetes will not get that far, and its clients skip what they do not know. */
const FIRST_OWN_NUMBER = 1000;

const OWN_FIELDS: Messages = new Map([
  [
    `${CORE}.PersistentVolumeStatus`,
    [
      field(FIRST_OWN_NUMBER, 'attachment', `${CORE}.PersistentVolumeAttachment`, 'pointer'),
      field(FIRST_OWN_NUMBER + 1, 'fencingToken', 'int64', 'pointer'),
    ],
  ],
]);

/** The messages of Kubernetes, and what this project adds to them. */
export function withOwnFields(messages: Messages): Messages {
  const all = new Map([...messages, ...OWN_MESSAGES]);
  for (const [name, fields] of OWN_FIELDS) all.set(name, [...(all.get(name) ?? []), ...fields]);
  return all;
}
