import { OperatorError } from '@holdfast/platform';

/** Where the controller service of a driver listens on this machine. */
export interface CsiDriverAddress {
  readonly name: string;
  readonly socket: string;
}

export const CSI_DRIVERS_HELP =
  'CSI drivers whose volumes these controllers make, attach and expand: NAME=SOCKET, for example hostpath.csi.k8s.io=/run/csi.sock; other drivers bring their own helpers';

/** `NAME=SOCKET` each. */
export function readCsiDrivers(texts: readonly string[]): readonly CsiDriverAddress[] {
  const found = texts.map(readOne);
  const twice = found.find(({ name }, index) => found.findIndex((other) => other.name === name) !== index);
  if (twice !== undefined) throw refused(`names the driver ${twice.name} twice`);
  return found;
}

const NAME = /^[a-z0-9A-Z]([-a-z0-9A-Z.]{0,61}[a-z0-9A-Z])?$/;

function readOne(text: string): CsiDriverAddress {
  const at = text.indexOf('=');
  const name = text.slice(0, Math.max(at, 0));
  const socket = text.slice(at + 1).replace(/^unix:(\/\/)?/, '');
  if (at < 1 || !NAME.test(name)) throw refused(`cannot be read: "${text}"`);
  if (!socket.startsWith('/')) throw refused(`needs the absolute path of a socket, not "${socket}"`);
  return { name, socket };
}

const refused = (what: string): OperatorError =>
  new OperatorError({
    code: 'BadSetting',
    message: `--csi-drivers ${what}`,
    nextStep: 'write NAME=SOCKET, for example --csi-drivers hostpath.csi.k8s.io=/var/run/csi/csi.sock',
    exitCode: 2,
  });
