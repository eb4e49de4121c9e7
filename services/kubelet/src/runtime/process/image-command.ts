import { type ContainerConfig, RuntimeError } from '../port.ts';

/** `pause` only waits to be stopped, and every cluster test uses it; nothing of its image is needed for that. */
const WAIT_FOR_STOP = ['/bin/sh', '-c', 'trap "exit 0" TERM INT; while :; do sleep 3600 & wait $!; done'];

/** There are no images here, so what an image would run by itself is not known. */
export function commandOf(config: ContainerConfig): readonly string[] {
  if (config.command.length > 0) return config.command;
  if (/(^|\/)pause(:|@|$)/.test(config.image) && config.args.length === 0) return WAIT_FOR_STOP;
  throw new RuntimeError(
    'Unsupported',
    `container "${config.name}" names no command: this node runs commands of its machine and cannot read what image ` +
      `"${config.image}" would run; set the container's command`,
  );
}
