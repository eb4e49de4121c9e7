import { going, type Mounted, mounted, printing, shell, type Walk } from './walk.ts';

const ofPod = (fieldPath: string, file: string, mode?: number) => ({
  path: file,
  fieldRef: { fieldPath },
  ...(mode && { mode }),
});
const ofLimit = (resource: string) => ({ path: 'limit', resourceFieldRef: { containerName: 'main', resource } });

const DOWNWARD_KINDS = [
  {
    name: 'Downward API volume',
    of: (items: readonly object[], mode?: object): object => ({ downwardAPI: { ...mode, items } }),
  },
  {
    name: 'Projected downwardAPI',
    of: (items: readonly object[], mode?: object): object => ({
      projected: { ...mode, sources: [{ downwardAPI: { items } }] },
    }),
  },
];

const FREE = { resources: {} };

const downward = ({ name, of }: (typeof DOWNWARD_KINDS)[number]): readonly Walk[] => {
  const limit = (what: string, resource: string, says: RegExp, container: object = {}): Walk =>
    printing(
      `${name} should provide ${what}`,
      { ...shell('cat /v/limit'), ...container },
      says,
      mounted(of([ofLimit(resource)])),
    );
  const changing = (what: 'labels' | 'annotations', command: string): Walk => ({
    ...going(
      `${name} should update ${what} on modification`,
      {
        ...shell('until grep -q two /v/file; do sleep 0.2; done; echo changed; exec sleep 600'),
        volumeMounts: [{ name: 'v', mountPath: '/v' }],
      },
      { says: /^changed$/, change: (kubectl, pod) => kubectl.run(command, 'pod', pod, '--overwrite', 'step=two') },
      { volumes: [{ name: 'v', ...of([ofPod(`metadata.${what}`, 'file')]) }] },
    ),
    metadata: { [what]: { step: 'one' } },
  });
  return [
    printing(
      `${name} should provide podname only`,
      'cat /v/podname',
      /^walk-\d+$/,
      mounted(of([ofPod('metadata.name', 'podname')])),
    ),
    printing(
      `${name} should set DefaultMode on files`,
      'stat -L -c %a /v/podname',
      /^400$/,
      mounted(of([ofPod('metadata.name', 'podname')], { defaultMode: 0o400 })),
    ),
    printing(
      `${name} should set mode on item file`,
      'stat -L -c %a /v/podname',
      /^400$/,
      mounted(of([ofPod('metadata.name', 'podname', 0o400)])),
    ),
    limit("container's cpu limit", 'limits.cpu', /^2$/),
    limit("container's memory limit", 'limits.memory', /^67108864$/),
    limit("container's cpu request", 'requests.cpu', /^1$/),
    limit("container's memory request", 'requests.memory', /^33554432$/),
    limit('node allocatable (cpu) as default cpu limit if the limit is not set', 'limits.cpu', /^[1-9]\d*$/, FREE),
    limit(
      'node allocatable (memory) as default memory limit if the limit is not set',
      'limits.memory',
      /^[1-9]\d{7,}$/,
      FREE,
    ),
    changing('labels', 'label'),
    changing('annotations', 'annotate'),
  ];
};

const emptyDirs = (): readonly Walk[] =>
  ['root', 'non-root'].flatMap((who) =>
    ['0644', '0666', '0777'].flatMap((mode) =>
      ['default', 'tmpfs'].map((medium) => {
        const script = `umask 0; echo mine >/v/file; chmod ${mode} /v/file; stat -c %a /v/file; id -u; cat /v/file; grep ' /v ' /proc/mounts`;
        const user = who === 'root' ? String.raw`\d+` : '1001';
        const container = { ...shell(script), ...(who === 'root' ? {} : { securityContext: { runAsUser: 1001 } }) };
        const of = medium === 'tmpfs' ? { medium: 'Memory' } : {};
        return printing(
          `EmptyDir volumes should support (${who},${mode},${medium})`,
          container,
          new RegExp(`^${mode.slice(1)}\\n${user}\\nmine${medium === 'tmpfs' ? '\\n\\S+ /v tmpfs ' : ''}`),
          mounted({ emptyDir: of }),
        );
      }),
    ),
  );

const BOTH: Mounted = mounted({ emptyDir: {} });

const EMPTY_DIRS: readonly Walk[] = [
  ...emptyDirs(),
  printing('EmptyDir volumes volume on default medium should have the correct mode', 'stat -c %a /v', /^777$/, BOTH),
  printing(
    'EmptyDir volumes volume on tmpfs should have the correct mode',
    'stat -c %a /v; grep " /v " /proc/mounts',
    /^1?777\n\S+ \/v tmpfs /,
    mounted({ emptyDir: { medium: 'Memory' } }),
  ),
  going(
    'EmptyDir volumes pod should support shared volumes between containers',
    {
      ...shell('until [ -e /v/shared ]; do sleep 0.1; done; cat /v/shared; exec sleep 600'),
      volumeMounts: BOTH.mounts,
    },
    { says: /^from the other$/ },
    {
      volumes: BOTH.volumes,
      initContainers: [
        {
          name: 'other',
          restartPolicy: 'Always',
          ...shell('echo from the other >/v/shared; exec sleep 600'),
          volumeMounts: BOTH.mounts,
        },
      ],
    },
  ),
];

const subPath = (what: string, volume: object, sub: string, says: RegExp): Walk =>
  printing(
    `Subpath Atomic writer volumes should support subpaths with ${what} pod`,
    'cat /v',
    says,
    mounted(volume, { subPath: sub }),
  );

const SUB_PATHS: readonly Walk[] = [
  subPath('configmap', { configMap: { name: 'map' } }, 'key', /^content of the map$/),
  subPath('secret', { secret: { secretName: 'keys' } }, 'data-1', /^value-1$/),
  subPath('downward', { downwardAPI: { items: [ofPod('metadata.name', 'podname')] } }, 'podname', /^walk-\d+$/),
  subPath('projected', { projected: { sources: [{ configMap: { name: 'map' } }] } }, 'key', /^content of the map$/),
  printing(
    'Subpath Atomic writer volumes should support subpaths with configmap pod with mountPath of existing file',
    'cat /etc/group',
    /^content of the map$/,
    mounted({ configMap: { name: 'map' } }, { mountPath: '/etc/group', subPath: 'key' }),
  ),
];

export const FILE_WALKS: readonly Walk[] = [...DOWNWARD_KINDS.flatMap(downward), ...EMPTY_DIRS, ...SUB_PATHS];
