import { hasHelper, helper } from '../../runtime/helpers.ts';

/** The numbers of Linux: SOL_IP, IP_TRANSPARENT. */
const OPTION = '0, 19, 1';

/** Node sets no such option of a socket. Each of these programs sets it for the one that is its descriptor 3. */
const PROGRAMS = {
  perl: `open(my $socket, '+<&=', 3) or die $!; setsockopt($socket, ${OPTION}) or die $!;`,
  python3: `import socket; socket.socket(fileno=3).setsockopt(${OPTION})`,
} as const;

/** Makes a listening socket accept connections to addresses that the machine does not have. */
export function transparencyCommand(): readonly string[] {
  return hasHelper('perl') ? [helper('perl'), '-e', PROGRAMS.perl] : [helper('python3'), '-c', PROGRAMS.python3];
}

/** What is led out. Raw sockets need perl. */
export const wayOutProtocols = (): readonly ('tcp' | 'udp')[] => (hasHelper('perl') ? ['tcp', 'udp'] : ['tcp']);

/** What the way out needs and the machine does not have; '' when all is there. */
export function wayOutRefusal(): string {
  if (!hasHelper('nft')) return 'nft is not installed';
  return hasHelper('perl') || hasHelper('python3') ? '' : 'neither perl nor python3 is installed';
}
