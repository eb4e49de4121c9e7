import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hiddenTargets, type MachineFiles, mountTable, planMounts } from './mount-plan.ts';

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
    isOpenToOthers: (path) => path === '/tmp',
    entries: (path) =>
      kinds
        .filter((each) => parentOf(each.path) === path)
        .map((each) => ({ name: each.path.slice(each.path.lastIndexOf('/') + 1), kind: each.kind })),
  };
}

const plan = (targets: readonly string[], machine: MachineFiles): { made: string[]; mounts: string[] } => {
  const { made, mounts } = planMounts(
    { root: '/r', directory: '/w' },
    targets.map((target) => ({ source: '/vol', target, readOnly: false })),
    machine,
  );
  return {
    made: made.map((entry) => `${entry.kind} ${entry.kind === 'mountPoint' ? `${entry.root}:` : ''}${entry.path}`),
    mounts: mounts.map(({ source, target }) => `${source} ${target}`),
  };
};

test('an existing mount point is mounted over; a missing one is created in a copy of the parent directory', () => {
  const machine = machineOf('/etc/', '/etc/hosts', '/run/', '/run/lock/', '/vol/', '/var/', '/var/run -> /run');
  const root = ['directory /r', 'directory /r/etc', 'directory /r/run', 'directory /r/vol', 'directory /r/var'];
  const shown = ['/r /r', '/etc /r/etc', '/run /r/run', '/vol /r/vol', '/var /r/var'];
  assert.deepEqual(plan(['/etc'], machine), { made: root, mounts: [...shown, '/vol /r/etc'] });
  assert.deepEqual(plan(['/data/deep'], machine), {
    made: [...root, 'directory /r/data/deep'],
    mounts: [...shown, '/vol /r/data/deep'],
  });
  assert.deepEqual(plan(['/var/run/secrets'], machine), {
    made: [...root, 'directory /r/run', 'directory /r/run/lock', 'directory /r/run/secrets'],
    mounts: [...shown.filter((each) => each !== '/run /r/run'), '/run/lock /r/run/lock', '/vol /r/run/secrets'],
  });
});

test('nothing is looked up in a volume whose kind the kubelet knows: its server may be silent', () => {
  const base = machineOf('/etc/', '/srv/');
  const machine = {
    ...base,
    isDirectory: (path: string) =>
      path.startsWith('/share') ? assert.fail(`a look at ${path}`) : base.isDirectory(path),
  };
  for (const target of ['/srv', '/new/place', '/srv/inside']) {
    const outer = { source: '/share', target: '/srv', readOnly: false, isDirectory: true };
    const volumes =
      target === '/srv' ? [outer] : [outer, { ...outer, target, source: '/share/file', isDirectory: false }];
    const { mounts } = planMounts({ root: '/r', directory: '/w' }, volumes, machine);
    assert.equal(mounts.at(-1)?.isDirectory, target === '/srv');
  }
});

test('a copy of a directory inside a visible one is mounted over it', () => {
  const machine = machineOf('/usr/', '/usr/share/', '/usr/share/doc/', '/vol/');
  const { made, mounts } = plan(['/usr/share/app'], machine);
  assert.deepEqual(made.slice(-3), [
    'directory /w/stand-in-1',
    'directory /w/stand-in-1/doc',
    'directory /w/stand-in-1/app',
  ]);
  assert.deepEqual(mounts, [
    '/r /r',
    '/usr /r/usr',
    '/vol /r/vol',
    '/w/stand-in-1 /r/usr/share',
    '/usr/share/doc /r/usr/share/doc',
    '/vol /r/usr/share/app',
  ]);
});

test('a nested mount follows its parent and is created in it, whatever the machine has there', () => {
  const { made, mounts } = plan(['/etc/sub', '/etc'], machineOf('/etc/', '/etc/sub/', '/vol/'));
  assert.deepEqual([made.at(-1), mounts.slice(-2)], ['mountPoint /vol:sub', ['/vol /r/etc', '/vol /r/etc/sub']]);
});

test('no path is parsed as table syntax; read-only mounts stay read-only, and only paths of the machine may be missing', () => {
  const entry = { source: '/a b#c', target: '/r/b', readOnly: false, mayBeMissing: true };
  const volume = { source: '/v', target: '/r/v', readOnly: true, mayBeMissing: false };
  const shown = '/a\\040b\\043c /r/b none rbind,nofail 0 0\n';
  assert.equal(mountTable([entry, volume], false), `${shown}/v /r/v none rbind,ro 0 0\n`);
  assert.equal(mountTable([entry, volume], true), `${shown}/v /r/v none rbind,ro,nosuid,nodev 0 0\n`);
});

test('a copy replaces every directory on the path that non-root users may write, so that none can place a link there', () => {
  const { made, mounts } = plan(['/tmp/a/b'], machineOf('/tmp/', '/tmp/a/', '/tmp/a/b/', '/tmp/other/', '/vol/'));
  assert.deepEqual(made.slice(-4), [
    'directory /r/tmp/a',
    'directory /r/tmp/other',
    'directory /r/tmp/a',
    'directory /r/tmp/a/b',
  ]);
  assert.deepEqual(mounts, [
    '/r /r',
    '/vol /r/vol',
    '/tmp/other /r/tmp/other',
    '/tmp/a/b /r/tmp/a/b',
    '/vol /r/tmp/a/b',
  ]);
});

test('a source in a tree that pods write is detected and mounted through an open descriptor', () => {
  const machine = machineOf('/etc/', '/etc/sub/', '/vol/');
  const mounts = [
    { source: '/vol/deep', target: '/etc', readOnly: false, within: '/vol' },
    { source: '/other', target: '/etc/sub', readOnly: true },
  ];
  const { made, mounts: entries } = planMounts({ root: '/r', directory: '/w' }, mounts, machine);
  const shape = entries.slice(-2).map(({ isSourceOpen = false, isTargetOpen = false }) => [isSourceOpen, isTargetOpen]);
  assert.deepEqual(shape, [
    [true, false],
    [false, true],
  ]);
  assert.deepEqual(made.at(-1), { kind: 'mountPoint', root: '/vol', path: 'deep/sub', isDirectory: false });
});

test('hidden paths are also hidden in copies of directories, except under a volume', () => {
  const volume = { source: '/vol', target: '/r/srv', readOnly: false, mayBeMissing: false, isVolume: true as const };
  const standIn = { source: '/w/stand-in-1', target: '/r/etc', readOnly: false, mayBeMissing: false };
  const shown = { source: '/home', target: '/r/home', readOnly: false, mayBeMissing: true };
  assert.deepEqual(
    hiddenTargets('/r', ['/srv/data', '/home/u/data', '/home/u/data/node', '/etc/keys'], [shown, volume, standIn]),
    ['/r/home/u/data', '/r/etc/keys'],
  );
});
