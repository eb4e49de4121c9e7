import { ForgetfulNode } from './forgetful-files.ts';
import * as fuse from './fuse-protocol.ts';

const { ERRNO } = fuse;
const ROOT = 1;
const FATTR_MODE = 1;
const FATTR_SIZE = 8;
const EXCLUSIVE_RENAME = 1;
const DONE = Buffer.alloc(0);

type Answer = Buffer | number | undefined;

/** Answers the kernel for a tree of files in memory. `undefined`: the kernel expects no answer. */
export class ForgetfulTree {
  readonly #nodes = new Map<number, ForgetfulNode>([[ROOT, new ForgetfulNode(ROOT, 0o777, true)]]);
  #lastId = ROOT;
  /** Nothing that makes a file longer is taken. */
  isFull = false;
  /** Nothing is changed, as after an error of the device. */
  isReadOnly = false;

  /** The power is lost: every file is as it was synced last. Returns how many bytes are gone. */
  forget(): number {
    return [...this.#nodes.values()].reduce((sum, node) => sum + node.forget(), 0);
  }

  answer({ opcode, node: id, body }: fuse.FuseRequest): Answer {
    // What concerns no file names node 0.
    const node = this.#nodes.get(id === 0 ? ROOT : id);
    const handler = HANDLERS.get(opcode);
    if (handler === undefined) return ERRNO.ENOSYS;
    if (node === undefined) return handler === forgotten ? undefined : ERRNO.ENOENT;
    if (this.isReadOnly && CHANGES.has(opcode)) return ERRNO.EROFS;
    return handler(this, node, body);
  }

  make(
    folder: ForgetfulNode,
    name: string,
    made: { readonly mode: number; readonly isFolder: boolean },
  ): ForgetfulNode {
    const node = new ForgetfulNode(++this.#lastId, made.mode, made.isFolder);
    this.#nodes.set(node.id, node);
    folder.children.set(name, node);
    return node;
  }

  find(id: number): ForgetfulNode | undefined {
    return this.#nodes.get(id);
  }

  drop(node: ForgetfulNode): void {
    if (node.links <= 0 && node.id !== ROOT) this.#nodes.delete(node.id);
  }
}

type Handler = (tree: ForgetfulTree, node: ForgetfulNode, body: Buffer) => Answer;

const forgotten: Handler = (tree, node) => {
  tree.drop(node);
  return undefined;
};
const nameAt = (body: Buffer, at: number): string => fuse.names(body, at)[0] ?? '';
const numberAt = (body: Buffer, at: number): number => Number(body.readBigUInt64LE(at));

const remove: Handler = (_tree, folder, body) => {
  const name = nameAt(body, 0);
  const node = folder.children.get(name);
  if (node === undefined) return ERRNO.ENOENT;
  if (node.children.size > 0) return ERRNO.ENOTEMPTY;
  folder.children.delete(name);
  node.links -= 1;
  return DONE;
};

function rename(tree: ForgetfulTree, folder: ForgetfulNode, body: Buffer, from: { at: number; flags: number }): Answer {
  const [oldName = '', newName = ''] = fuse.names(body, from.at);
  const target = tree.find(numberAt(body, 0));
  const node = folder.children.get(oldName);
  if (node === undefined || target === undefined) return ERRNO.ENOENT;
  if (from.flags > EXCLUSIVE_RENAME) return ERRNO.EINVAL;
  const replaced = target.children.get(newName);
  if (replaced !== undefined && from.flags === EXCLUSIVE_RENAME) return ERRNO.EEXIST;
  if (replaced !== undefined) replaced.links -= 1;
  folder.children.delete(oldName);
  target.children.set(newName, node);
  return DONE;
}

const setAttributes: Handler = (_tree, node, body) => {
  const valid = body.readUInt32LE(0);
  if ((valid & FATTR_MODE) !== 0) node.mode = body.readUInt32LE(68);
  if ((valid & FATTR_SIZE) !== 0) node.resize(numberAt(body, 16));
  return fuse.attributes(node);
};

const write: Handler = (tree, node, body) => {
  const data = body.subarray(40, 40 + body.readUInt32LE(16));
  if (tree.isFull && numberAt(body, 8) + data.length > node.size) return ERRNO.ENOSPC;
  node.write(numberAt(body, 8), data);
  return fuse.written(data.length);
};

const create: Handler = (tree, folder, body) => {
  const node = tree.make(folder, nameAt(body, 16), { mode: body.readUInt32LE(4), isFolder: false });
  return Buffer.concat([fuse.entry(node), fuse.opened()]);
};

const sync: Handler = (_tree, node) => {
  node.sync();
  return DONE;
};

/** Operations that change something. */
const CHANGES: ReadonlySet<number> = new Set([4, 8, 9, 10, 11, 12, 16, 35, 45]);

/** By the number of the operation. */
const HANDLERS: ReadonlyMap<number, Handler> = new Map<number, Handler>([
  [
    1,
    (_tree, folder, body) => {
      const node = folder.children.get(nameAt(body, 0));
      return node === undefined ? ERRNO.ENOENT : fuse.entry(node);
    },
  ],
  [2, forgotten],
  [3, (_tree, node) => fuse.attributes(node)],
  [4, setAttributes],
  [
    8,
    (tree, folder, body) =>
      fuse.entry(tree.make(folder, nameAt(body, 16), { mode: body.readUInt32LE(0), isFolder: false })),
  ],
  [
    9,
    (tree, folder, body) =>
      fuse.entry(tree.make(folder, nameAt(body, 8), { mode: body.readUInt32LE(0), isFolder: true })),
  ],
  [10, remove],
  [11, remove],
  [12, (tree, folder, body) => rename(tree, folder, body, { at: 8, flags: 0 })],
  [14, () => fuse.opened()],
  [15, (_tree, node, body) => node.read(numberAt(body, 8), body.readUInt32LE(16))],
  [16, write],
  [17, () => fuse.room()],
  [18, () => DONE],
  [20, sync],
  [25, () => DONE],
  [26, () => fuse.greeting()],
  [27, () => fuse.opened()],
  [28, (_tree, folder, body) => fuse.folderPage(folder, numberAt(body, 8), body.readUInt32LE(16))],
  [29, () => DONE],
  [30, () => DONE],
  [35, create],
  [38, () => DONE],
  [42, () => undefined],
  [45, (tree, folder, body) => rename(tree, folder, body, { at: 16, flags: body.readUInt32LE(8) })],
]);
