import { type ContainerConfig, RuntimeError } from '../port.ts';

/** `pause` only waits to be stopped, and every cluster test uses it; nothing of its image is needed for that. */
const WAIT_FOR_STOP = ['/bin/sh', '-c', 'trap "exit 0" TERM INT; while :; do sleep 3600 & wait $!; done'];

/** Images without an entrypoint: they run the given command, or a shell. */
const SHELL_IMAGES = new Set(['alpine', 'busybox', 'debian', 'ubuntu']);
const SHELL = '/bin/sh';

/** There are no images here, so what an image would run by itself is not known, but for the few that everybody knows. */
export function commandOf(config: ContainerConfig): readonly string[] {
  if (config.command.length > 0) return config.command;
  const image = shortName(config.image);
  if (image === 'pause' && config.args.length === 0) return WAIT_FOR_STOP;
  if (SHELL_IMAGES.has(image)) return config.args.length === 0 ? [SHELL] : [];
  throw new RuntimeError(
    'Unsupported',
    `container "${config.name}" has no command: this node runs commands of its machine and cannot read the command of image ` +
      `"${config.image}"; set the command of the container, or start the cluster with --runtime=docker or --runtime=cri`,
  );
}

/** `registry.k8s.io/pause:3.10` and `pause@sha256:...` are both `pause`. */
function shortName(image: string): string {
  const path = image.split('@', 1)[0] ?? '';
  const last = path.slice(path.lastIndexOf('/') + 1);
  return last.split(':', 1)[0] ?? '';
}
