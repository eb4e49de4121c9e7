import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type MachineFiles, mountScript, planMounts } from './mount-plan.ts';

/** Paths that end in a slash are directories, `a -> b` is a link. */
function machineOf(...paths: readonly string[]): MachineFiles {
  const directories = new Set(['/', ...paths.filter((path) => path.endsWith('/')).map((path) => path.slice(0, -1))]);
  const files = new Set(paths.filter((path) => !path.endsWith('/') && !path.includes(' -> ')));
  const links = new Map(
    paths.filter((path) => path.includes(' -> ')).map((path) => path.split(' -> ', 2)) as [string, string][],
  );
  const parentOf = (path: string): string => path.slice(0, path.lastIndexOf('/')) || '/';
  const kinds = [
    ...[...directories].filter((path) => path !== '/').map((path) => ({ path, kind: 'directory' }) as const),
    ...[...files].map((path) => ({ path, kind: 'file' }) as const),
    ...[...links.keys()].map((path) => ({ path, kind: 'link' }) as const),
  ];
  return {
    resolve: (path) => {
      for (const [link, target] of links) if (path.startsWith(`${link}/`)) return path.replace(link, target);
      return path;
    },
    exists: (path) => directories.has(path) || files.has(path),
    isDirectory: (path) => directories.has(path),
    entries: (path) =>
      kinds
        .filter((each) => parentOf(each.path) === path)
        .map((each) => ({ name: each.path.slice(each.path.lastIndexOf('/') + 1), kind: each.kind })),
  };
}

const plan = (targets: readonly string[], machine: MachineFiles): readonly string[] =>
  planMounts(
    '/r',
    targets.map((target) => ({ source: '/vol', target, readOnly: false })),
    machine,
  ).map((step) => `${step.kind} ${step.target}`);

test('a mount point that exists is mounted over; one that is missing is made in a copy of the directory above it', () => {
  const machine = machineOf('/etc/', '/etc/hosts', '/run/', '/run/lock/', '/vol/', '/var/', '/var/run -> /run');
  const root = ['tmpfs /r', 'directory /r/etc', 'directory /r/run', 'directory /r/vol', 'directory /r/var'];
  const shown = ['show /r/etc', 'show /r/run', 'show /r/vol', 'show /r/var'];
  assert.deepEqual(plan(['/etc'], machine), [...root, ...shown, 'bind /r/etc']);
  assert.deepEqual(plan(['/data/deep'], machine), [...root, ...shown, 'directory /r/data/deep', 'bind /r/data/deep']);
  assert.deepEqual(plan(['/var/run/secrets'], machine), [
    ...root,
    ...shown.filter((step) => step !== 'show /r/run'),
    'tmpfs /r/run',
    'directory /r/run/lock',
    'show /r/run/lock',
    'directory /r/run/secrets',
    'bind /r/run/secrets',
  ]);
});

test('a mount inside another comes after it and is made in it, whatever the machine has there', () => {
  const machine = machineOf('/etc/', '/etc/sub/', '/vol/');
  assert.deepEqual(plan(['/etc/sub', '/etc'], machine).slice(-3), [
    'bind /r/etc',
    'directory /r/etc/sub',
    'bind /r/etc/sub',
  ]);
});

test('steps of one kind are one command, and no path is taken for shell or table syntax', () => {
  const { text, files } = mountScript(
    [
      { kind: 'directory', target: "/r/it's" },
      { kind: 'directory', target: '/r/b' },
      { kind: 'show', source: '/a b#c', target: '/r/b' },
    ],
    '/w',
  );
  assert.equal(
    text,
    "mkdir -p '/r/it'\\''s' '/r/b' || fail 'cannot mount /r/it'\\''s'\nmount -a -T '/w/mounts-1' || fail 'cannot mount /r/b'",
  );
  assert.deepEqual([...files], [['/w/mounts-1', '/a\\040b\\043c /r/b none rbind,nofail 0 0\n']]);
});
