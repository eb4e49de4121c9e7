/**
 * The program of sandboxes, as machine code: there is no compiler on a node, and no registry may be at hand. It has the kernel discard
 * ended children (`SIGCHLD` ignored), because it is the first process of pods that share their processes, and sleeps until it is killed.
 */

const SIGCHLD = 17;
const SIG_IGN = 1;
/** `struct sigaction` of the kernel: handler, flags, restorer, mask; 8 bytes each. */
const ACTION_BYTES = 32;

const LOAD_ADDRESS = 0x400000n;
const FILE_HEADER_BYTES = 64;
const PROGRAM_HEADER_BYTES = 56;
const HEADERS_BYTES = FILE_HEADER_BYTES + PROGRAM_HEADER_BYTES;

/** By the engine's name of the architecture. */
const CODES: ReadonlyMap<string, { readonly machine: number; readonly code: () => Uint8Array }> = new Map([
  ['amd64', { machine: 62, code: amd64 }],
  ['arm64', { machine: 183, code: arm64 }],
]);

/** An executable file without libraries; `undefined` for an architecture that has none here. */
export function sleeper(architecture: string): Buffer | undefined {
  const found = CODES.get(architecture);
  if (found === undefined) return undefined;
  const action = Buffer.alloc(ACTION_BYTES);
  action.writeBigUInt64LE(BigInt(SIG_IGN), 0);
  const body = Buffer.concat([found.code(), action]);
  return Buffer.concat([fileHeader(found.machine), programHeader(HEADERS_BYTES + body.length), body]);
}

function fileHeader(machine: number): Buffer {
  const header = Buffer.alloc(FILE_HEADER_BYTES);
  // The magic number, 64 bits, little-endian, version 1.
  header.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
  header.writeUInt16LE(2, 16);
  header.writeUInt16LE(machine, 18);
  header.writeUInt32LE(1, 20);
  header.writeBigUInt64LE(LOAD_ADDRESS + BigInt(HEADERS_BYTES), 24);
  header.writeBigUInt64LE(BigInt(FILE_HEADER_BYTES), 32);
  header.writeUInt16LE(FILE_HEADER_BYTES, 52);
  header.writeUInt16LE(PROGRAM_HEADER_BYTES, 54);
  header.writeUInt16LE(1, 56);
  return header;
}

/** One segment: the whole file, readable and executable. */
function programHeader(fileBytes: number): Buffer {
  const header = Buffer.alloc(PROGRAM_HEADER_BYTES);
  header.writeUInt32LE(1, 0);
  header.writeUInt32LE(5, 4);
  header.writeBigUInt64LE(LOAD_ADDRESS, 16);
  header.writeBigUInt64LE(LOAD_ADDRESS, 24);
  header.writeBigUInt64LE(BigInt(fileBytes), 32);
  header.writeBigUInt64LE(BigInt(fileBytes), 40);
  header.writeBigUInt64LE(0x10000n, 48);
  return header;
}

function amd64(): Uint8Array {
  const instructions = [
    [0xb8, 13, 0, 0, 0], // mov eax, rt_sigaction
    [0xbf, SIGCHLD, 0, 0, 0], // mov edi, SIGCHLD
    [0x48, 0x8d, 0x35, 19, 0, 0, 0], // lea rsi, [rip + 19]: the action behind the code
    [0x31, 0xd2], // xor edx, edx
    [0x41, 0xba, 8, 0, 0, 0], // mov r10d, 8: the size of the mask
    [0x0f, 0x05], // syscall
    [0xb8, 34, 0, 0, 0], // mov eax, pause
    [0x0f, 0x05], // syscall
    [0xeb, 0xf7], // jmp to pause
  ];
  return new Uint8Array(instructions.flat());
}

/** This architecture has no `pause`: `ppoll` of nothing without an end is the same. */
function arm64(): Uint8Array {
  const set = (register: number, value: number): number => (0xd2800000 | (value << 5) | register) >>> 0;
  const call = 0xd4000001;
  const words = [
    [set(8, 134), set(0, SIGCHLD)],
    [0x10000181], // adr x1, the action behind the code: 12 instructions further
    [set(2, 0), set(3, 8), call],
    [set(0, 0), set(1, 0), set(2, 0), set(3, 0), set(4, 8), set(8, 73), call],
    [0x17fffff9], // b, to the first of those seven
  ].flat();
  const code = Buffer.alloc(words.length * 4);
  for (const [index, word] of words.entries()) code.writeUInt32LE(word, index * 4);
  return code;
}
