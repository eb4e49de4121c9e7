import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

const ROOT = path.resolve(import.meta.dirname, '../..');

/** Rooms that exist only on Linux: nothing loads them elsewhere. */
const LINUX_FOLDERS = [
  'services/kubelet/src/runtime/process/',
  'services/kubelet/src/runtime/cri/',
  'services/kubelet/src/pod-network/',
  'services/proxy/src/filter/',
];

/** What each of these does on another system, where its Linux way is missing. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  'services/fencer/src/shipped/docker-poweroff.ts':
    'an agent of the operator on the machine of the engine; the socket can be set',
  'services/holdfast/src/client/doctor/checks/control-groups.ts': 'reports that there are none',
  'services/holdfast/src/client/doctor/checks/kernel.ts': 'reports what is missing',
  'services/holdfast/src/local/ending.ts': 'no list of mounts: none are ended',
  'services/holdfast/src/local/process-identity.ts': 'asks ps',
  'services/kubelet/src/adapters/block-device.ts': 'only where the process runtime can give devices',
  'services/kubelet/src/adapters/incarnation.ts': 'the identity has fewer parts',
  'services/kubelet/src/adapters/machine-facts.ts': 'the id of the boot is empty',
  'services/kubelet/src/adapters/machine-probe.ts': 'the figures that Node has, and fewer of them',
  'services/kubelet/src/runtime/beneath.ts': 'sub-path.ts finds by name',
  'services/kubelet/src/runtime/class-cgroups.ts': 'no groups: the node promises no self-fencing',
  'services/kubelet/src/runtime/container-runtimes.ts': 'the usual sockets; another one can be named',
  'services/kubelet/src/runtime/docker/local-processes.ts':
    'no process of a container is seen: the engine alone ends them',
  'services/kubelet/src/runtime/docker/port-forward.ts': 'only where the processes of containers are seen',
  'services/kubelet/src/runtime/inside-dialer.ts': 'only used by port-forward.ts and private networks',
  'services/kubelet/src/runtime/pod-directories.ts':
    'no list of mounts: none are ended, and work in volumes has a process',
};

/** Paths of the kernel, its sockets and programs that only Linux has, in a text of the program. */
const LINUX_WORDS =
  /['"`](?:\/proc(?:\/|['"`])|\/sys\/|\/dev\/(?!null|termination-log)|unix:\/\/\/(?:var\/)?run\/|\/(?:var\/)?run\/docker)|\bhelper\('(?:mknod|nsenter|setpriv|unshare)'|['"`](?:nsenter|unshare|conntrack|losetup|netlink)['"`]/;

const sources = globSync(['services/*/src/**/*.ts', 'libs/*/src/**/*.ts'], { cwd: ROOT })
  .map((file) => file.replaceAll(path.sep, '/'))
  .filter((file) => !/\.test\.ts$|\/testing\/|\/contract|\/generated\//.test(file));

const linuxLines = (text: string): readonly string[] =>
  text.split('\n').filter((line) => !/^\s*(?:\/\/|\/?\*)/.test(line) && LINUX_WORDS.test(line));

test('what needs Linux is in rooms that only Linux loads, or says what it does elsewhere', () => {
  const found = sources.filter(
    (file) =>
      !LINUX_FOLDERS.some((folder) => file.startsWith(folder)) &&
      linuxLines(readFileSync(path.join(ROOT, file), 'utf8')).length > 0,
  );
  const unknown = found.filter((file) => !(file in ELSEWHERE));
  assert.deepEqual(unknown, [], 'find a way for other systems, and name it in ELSEWHERE of this file');
  const idle = Object.keys(ELSEWHERE).filter((file) => !found.includes(file));
  assert.deepEqual(idle, [], 'these need no Linux any more: take them out of ELSEWHERE');
});

test('the check sees paths, sockets and programs of Linux, and no comments', () => {
  const seen = [
    "const a = '/proc/self/mounts';",
    'read(`/proc/${pid}/stat`);',
    "const b = '/sys/fs/cgroup';",
    "const c = 'unix:///var/run/docker.sock';",
    "spawn(helper('nsenter'), []);",
    "const d = ['nft', 'unshare'];",
    "const e = '/dev/fuse';",
  ];
  for (const line of seen) assert.equal(linuxLines(line).length, 1, line);
  for (const line of ['// as in /proc', ' * `/proc/uptime`', "const f = '/dev/null';"])
    assert.deepEqual(linuxLines(line), []);
});
