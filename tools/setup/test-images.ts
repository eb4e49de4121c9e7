import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { type LayerEntry, type OciImage, writeOciArchive } from './oci-archive.ts';

/** containerd's sandbox image of every pod. */
export const PAUSE_IMAGE = 'localhost/holdfast/pause:1';

/** Reaps orphans as the first process of a shared PID namespace, and exits immediately on request. */
const PAUSE = ['/bin/sh', '-c', 'trap "exit 0" TERM INT; while :; do sleep 3600 & wait $!; done'];
const PATH = 'PATH=/usr/local/bin:/usr/bin:/bin';

/**
 * Images for tests, made of Debian's busybox-static: there is no registry to ask.
 * `busybox` (works in /work), `pause` and `nginx` (run without a command), `as-nobody` (runs as a number), `as-name` (as a name),
 * `stops-on-usr1` (wants another stop signal).
 */
export function writeTestImages(file: string): void {
  const entries = busyboxLayer();
  const image = (names: readonly string[], config: OciImage['config']): OciImage => ({
    names,
    entries,
    config: { Env: [PATH], ...config },
  });
  writeOciArchive(file, [
    image(['docker.io/library/busybox:1.36', 'docker.io/library/busybox:latest'], { Cmd: ['sh'], WorkingDir: '/work' }),
    image([PAUSE_IMAGE, 'registry.k8s.io/pause:3.10', 'docker.io/library/nginx:1.27'], { Entrypoint: PAUSE }),
    image(['docker.io/library/as-nobody:1'], { Entrypoint: PAUSE, User: '65534' }),
    image(['docker.io/library/stops-on-usr1:1'], { Cmd: ['sh'], StopSignal: 'SIGUSR1' }),
    image(['docker.io/library/as-name:1'], { Entrypoint: PAUSE, User: 'nobody' }),
  ]);
}

function busyboxLayer(): readonly LayerEntry[] {
  const applets = execFileSync('/bin/busybox', ['--list'], { encoding: 'utf8' }).trim().split('\n');
  const folders = ['bin', 'etc', 'home', 'proc', 'root', 'sys', 'dev', 'usr', 'usr/bin', 'var', 'work'];
  const text = (path: string, content: string): LayerEntry => ({ kind: 'file', path, content: Buffer.from(content) });
  return [
    ...folders.map((path) => ({ kind: 'directory', path }) as const),
    { kind: 'directory', path: 'tmp', mode: 0o1777 },
    { kind: 'file', path: 'bin/busybox', content: readFileSync('/bin/busybox'), mode: 0o755 },
    ...applets
      .filter((name) => name !== 'busybox')
      .map((name) => ({ kind: 'link', path: `bin/${name}`, target: 'busybox' }) as const),
    text('etc/passwd', 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/home:/bin/sh\n'),
    text('etc/group', 'root:x:0:\nnobody:x:65534:\n'),
  ];
}
