import { going, mounted, printing, shell, type Walk } from './walk.ts';

/** How one kind of volume is written, with these fields of its source. */
interface Kind {
  readonly name: string;
  readonly of: (source: object, mode?: object) => object;
  readonly source: object;
}

const CONFIG_MAP: Kind = {
  name: 'ConfigMap',
  of: (source, mode) => ({ configMap: { ...source, ...mode } }),
  source: { name: 'map' },
};
const SECRET: Kind = {
  name: 'Secrets',
  of: (source, mode) => ({ secret: { ...source, ...mode } }),
  source: { secretName: 'keys' },
};
const projected = (name: string, field: string, source: object): Kind => ({
  name,
  of: (given, mode) => ({ projected: { ...mode, sources: [{ [field]: given }] } }),
  source,
});
const PROJECTED_MAP = projected('Projected configMap', 'configMap', { name: 'map' });
const PROJECTED_SECRET = projected('Projected secret', 'secret', { name: 'keys' });

const KINDS = [CONFIG_MAP, SECRET, PROJECTED_MAP, PROJECTED_SECRET] as const;
const MAPS = [CONFIG_MAP, PROJECTED_MAP] as const;
const SECRETS = [SECRET, PROJECTED_SECRET] as const;

const READ = 'stat -L -c %a /v/data-1; cat /v/data-1';
const READ_MAPPED = 'stat -L -c %a /v/sub/new-data-1; cat /v/sub/new-data-1';
const mapped = (mode?: number) => ({ items: [{ key: 'data-1', path: 'sub/new-data-1', ...(mode && { mode }) }] });
const by = (user: number, script: string) => ({ ...shell(script), securityContext: { runAsUser: user } });

const consumed = ({ name, of, source }: Kind): readonly Walk[] => {
  const title = `${name} should be consumable from pods in volume`;
  const item = SECRETS.some((kind) => kind.name === name) ? 'Item Mode' : 'Item mode';
  const many =
    name === 'Secrets' || name === 'Projected secret'
      ? 'in multiple volumes in a pod'
      : 'in multiple volumes in the same pod';
  return [
    printing(title, READ, /^644\nvalue-1$/, mounted(of(source))),
    printing(`${title} with defaultMode set`, READ, /^400\nvalue-1$/, mounted(of(source, { defaultMode: 0o400 }))),
    printing(`${title} with mappings`, READ_MAPPED, /^644\nvalue-1$/, mounted(of({ ...source, ...mapped() }))),
    printing(
      `${title} with mappings and ${item} set`,
      READ_MAPPED,
      /^400\nvalue-1$/,
      mounted(of({ ...source, ...mapped(0o400) })),
    ),
    printing(`${name} should be consumable ${many}`, 'cat /one/data-1 /two/data-1', /^value-1value-1$/, {
      volumes: ['one', 'two'].map((each) => ({ name: each, ...of(source) })),
      mounts: ['one', 'two'].map((each) => ({ name: each, mountPath: `/${each}`, readOnly: true })),
    }),
  ];
};

const asNonRoot = ({ name, of, source }: Kind): readonly Walk[] => [
  printing(
    `${name} should be consumable from pods in volume as non-root`,
    by(1000, READ),
    /^644\nvalue-1$/,
    mounted(of(source)),
  ),
  printing(
    `${name} should be consumable from pods in volume with mappings as non-root`,
    by(1000, READ_MAPPED),
    /^644\nvalue-1$/,
    mounted(of({ ...source, ...mapped() })),
  ),
];

const withGroup = ({ name, of, source }: Kind): Walk =>
  printing(
    `${name} should be consumable from pods in volume as non-root with defaultMode and fsGroup set`,
    READ,
    /^440\nvalue-1$/,
    { ...mounted(of(source, { defaultMode: 0o440 })), spec: { securityContext: { runAsUser: 1000, fsGroup: 1001 } } },
  );

/** Every kubelet reads the changed object within a minute or two. */
const following = ({ name, of, source }: Kind, index: number): Walk => {
  const object = 'secretName' in source || name === 'Projected secret' ? 'secret' : 'configmap';
  const own = `changing-${index}`;
  const data = object === 'secret' ? { stringData: { 'data-1': 'value-2' } } : { data: { 'data-1': 'value-2' } };
  return going(
    name === 'Secrets' || name === 'Projected secret'
      ? `${name} optional updates should be reflected in volume`
      : `${name} updates should be reflected in volume`,
    {
      ...shell('while ! grep -q value-2 /v/data-1; do sleep 0.2; done; echo changed; exec sleep 600'),
      volumeMounts: [{ name: 'v', mountPath: '/v' }],
    },
    {
      says: /^changed$/,
      change: (kubectl) => kubectl.run('patch', object, own, '-p', JSON.stringify(data)),
    },
    {
      volumes: [{ name: 'v', ...of({ ...source, ...('secretName' in source ? { secretName: own } : { name: own }) }) }],
    },
  );
};

/** Three maps in one pod: one that goes, one that changes, one that comes. */
const optional = ({ name, of }: Kind, index: number): Walk => {
  const names = ['goes', 'changes', 'comes'].map((what) => `${what}-${index}`);
  const script =
    'until [ ! -e /goes/data-1 ] && grep -q value-2 /changes/data-1 && grep -q value-1 /comes/data-1; do sleep 0.2; done; echo followed; exec sleep 600';
  return going(
    `${name} optional updates should be reflected in volume`,
    {
      ...shell(script),
      volumeMounts: ['goes', 'changes', 'comes'].map((each) => ({ name: each, mountPath: `/${each}` })),
    },
    {
      says: /^followed$/m,
      change: async (kubectl) => {
        await kubectl.run('delete', 'configmap', names[0] ?? '');
        await kubectl.run('patch', 'configmap', names[1] ?? '', '-p', '{"data":{"data-1":"value-2"}}');
        await kubectl.run('create', 'configmap', names[2] ?? '', '--from-literal=data-1=value-1');
      },
    },
    {
      volumes: ['goes', 'changes', 'comes'].map((each, i) => ({
        name: each,
        ...of({ name: names[i], optional: true }),
      })),
    },
  );
};

/** The conformance test has 50 volumes as well, and starts five such pods at a time. */
const MANY_MAPS = Array.from({ length: 50 }, (_, index) => `racy-${index}`);

const manyMaps = (): Walk =>
  printing(
    'EmptyDir wrapper volumes should not cause race condition when used for configmaps',
    'cat /v/*/data-1 | wc -c',
    new RegExp(`^${MANY_MAPS.length * 'value-1'.length}$`),
    {
      volumes: MANY_MAPS.map((name) => ({ name, configMap: { name } })),
      mounts: MANY_MAPS.map((name) => ({ name, mountPath: `/v/${name}` })),
    },
  );

/** What the walks read, and change. */
export const OBJECTS: readonly object[] = [
  {
    kind: 'ConfigMap',
    metadata: { name: 'map' },
    data: { 'data-1': 'value-1', data_1: 'value-1', key: 'content of the map' },
    binaryData: { bytes: '3q2+7w==' },
  },
  { kind: 'Secret', metadata: { name: 'keys' }, stringData: { 'data-1': 'value-1', data_1: 'value-1' } },
  ...[0, 2].flatMap((i) => [
    { kind: 'ConfigMap', metadata: { name: `changing-${i}` }, data: { 'data-1': 'value-1' } },
    { kind: 'ConfigMap', metadata: { name: `goes-${i}` }, data: { 'data-1': 'value-1' } },
    { kind: 'ConfigMap', metadata: { name: `changes-${i}` }, data: { 'data-1': 'value-1' } },
  ]),
  ...[1, 3].map((i) => ({ kind: 'Secret', metadata: { name: `changing-${i}` }, stringData: { 'data-1': 'value-1' } })),
  { kind: 'Namespace', metadata: { name: 'another' } },
  { kind: 'Secret', metadata: { name: 'keys', namespace: 'another' }, stringData: { 'data-1': 'another' } },
  ...MANY_MAPS.map((name) => ({ kind: 'ConfigMap', metadata: { name }, data: { 'data-1': 'value-1' } })),
].map((object) => ({ apiVersion: 'v1', ...object }));

export const DATA_WALKS: readonly Walk[] = [
  ...KINDS.flatMap(consumed),
  ...MAPS.flatMap(asNonRoot),
  ...SECRETS.map(withGroup),
  ...KINDS.map(following),
  optional(CONFIG_MAP, 0),
  optional(PROJECTED_MAP, 2),
  ...Array.from({ length: 5 }, manyMaps),
  printing(
    'Secrets should be able to mount in a volume regardless of a different secret existing with same name in different namespace',
    READ,
    /^644\nvalue-1$/,
    mounted(SECRET.of(SECRET.source)),
  ),
  printing(
    'ConfigMap binary data should be reflected in volume',
    'od -An -tx1 /v/bytes; cat /v/key',
    /^\s*de ad be ef\ncontent of the map$/,
    mounted(CONFIG_MAP.of(CONFIG_MAP.source)),
  ),
  printing('EmptyDir wrapper volumes should not conflict', 'cat /s/data-1 /c/key', /^value-1content of the map$/, {
    volumes: [
      { name: 's', secret: { secretName: 'keys' } },
      { name: 'c', configMap: { name: 'map' } },
    ],
    mounts: [
      { name: 's', mountPath: '/s', readOnly: true },
      { name: 'c', mountPath: '/c' },
    ],
  }),
  printing(
    'Projected combined should project all components that make up the projection API',
    'cat /v/podname; echo; cat /v/map/data-1 /v/keys/data-1 /v/cpu',
    /^walk-\d+\nvalue-1value-1(2|1250)$/,
    mounted({
      projected: {
        sources: [
          { secret: { name: 'keys', items: [{ key: 'data-1', path: 'keys/data-1' }] } },
          { configMap: { name: 'map', items: [{ key: 'data-1', path: 'map/data-1' }] } },
          {
            downwardAPI: {
              items: [
                { path: 'podname', fieldRef: { fieldPath: 'metadata.name' } },
                { path: 'cpu', resourceFieldRef: { containerName: 'main', resource: 'limits.cpu' } },
              ],
            },
          },
        ],
      },
    }),
  ),
];
