import { rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { helper } from '../../runtime/helpers.ts';
import { InsideDialer } from '../../runtime/inside-dialer.ts';
import { closeInherited, machineClock } from '../../runtime/process/standalone.ts';
import { dial, dialDatagrams, refuse } from './dial.ts';
import { FairPlaces } from './fair-places.ts';
import { AGENT_IDLE_EXIT_MS, DIALS_MAX, DIALS_PER_POD_MAX, NFT_DEADLINE_MS, REQUEST_LINE_MAX_BYTES } from './limits.ts';
import { LineReader } from './line-reader.ts';
import { linkMachine, unlinkMachine } from './machine-link.ts';
import { Namespaces } from './namespaces.ts';
import { onceDone } from './once-done.ts';
import type { AgentLine, DialLine } from './protocol.ts';
import { Relays } from './relays.ts';
import { run } from './run.ts';
import { leadOut } from './way-out.ts';

/** Runs inside the network of pods, until it is told to stop or nobody needs it any more. */
class Agent {
  readonly #namespaces: Namespaces;
  readonly #relays: Relays;
  readonly #inside = new InsideDialer({ clock: machineClock });
  readonly #dials = new FairPlaces({ perHolder: DIALS_PER_POD_MAX, all: DIALS_MAX });
  readonly #directory: string;
  readonly #path: string;
  readonly #leadOut = onceDone((way: { readonly network: string; readonly target: string }) =>
    leadOut({
      file: join(this.#directory, 'namespaces', 'outside'),
      outside: join(this.#directory, 'outside.sock'),
      network: way.network,
      target: way.target,
      groupOf: this.#namespaces.groupOf,
    }),
  );
  readonly #clients = new Set<Socket>();

  constructor(directory: string) {
    this.#directory = directory;
    this.#namespaces = new Namespaces(join(directory, 'namespaces'));
    this.#relays = new Relays(join(directory, 'outside.sock'), this.#namespaces.groupOf);
    this.#path = join(directory, 'agent.sock');
  }

  async start(): Promise<void> {
    await this.#namespaces.begin();
    rmSync(this.#path, { force: true });
    createServer({ allowHalfOpen: true }, (socket) => this.#serve(socket)).listen(this.#path);
    this.#watchIdle();
  }

  /** The first line says whether requests follow or a connection into the network. */
  #serve(socket: Socket): void {
    const reader = new LineReader(REQUEST_LINE_MAX_BYTES);
    socket.on('error', () => socket.destroy());
    const read = (chunk: Buffer): void => {
      const found = reader.first(chunk);
      if (found === undefined) return;
      socket.off('data', read);
      const line = decode(found.line);
      if ('dial' in line) {
        socket.pause();
        if (found.rest.length > 0) socket.unshift(found.rest);
        void this.#dial(socket, line);
      } else this.#serveClient(socket, line, found.rest);
    };
    socket.on('data', read);
  }

  async #dial(socket: Socket, { dial: to }: DialLine): Promise<void> {
    try {
      const shares = { places: this.#dials, groupOf: this.#namespaces.groupOf };
      if (to.protocol === 'udp') return await dialDatagrams(socket, to, shares);
      const kept = to.key === undefined ? undefined : await this.#namespaces.find(to.key);
      await dial(socket, to, { ...shares, namespace: kept?.path, inside: this.#inside });
    } catch (error) {
      refuse(socket, error);
    }
  }

  #serveClient(socket: Socket, first: AgentLine, rest: Buffer): void {
    this.#clients.add(socket);
    socket.on('end', () => socket.end());
    socket.on('close', () => {
      this.#clients.delete(socket);
      this.#watchIdle();
    });
    const reader = new LineReader(REQUEST_LINE_MAX_BYTES);
    const read = (chunk: Buffer): void => {
      for (const line of reader.lines(chunk)) void this.#answer(socket, decode(line) as AgentLine);
    };
    void this.#answer(socket, first);
    read(rest);
    socket.on('data', read);
  }

  async #answer(socket: Socket, line: AgentLine): Promise<void> {
    const { id } = line;
    const told = await this.#handle(line).then(
      (result) => ({ id, result: result ?? null }),
      (error: unknown) => ({ id, error: error instanceof Error ? error.message : String(error) }),
    );
    if (socket.writable) socket.write(`${JSON.stringify(told)}\n`, line.method === 'stop' ? this.#end : undefined);
    else if (line.method === 'stop') this.#end();
  }

  async #handle(line: AgentLine): Promise<unknown> {
    switch (line.method) {
      case 'attach':
        return this.#namespaces.attach(line.key, { network: line.network, group: line.group ?? '' });
      case 'detach':
        return this.#namespaces.detach(line.key);
      case 'attached':
        return this.#namespaces.list();
      case 'serve':
        await this.#namespaces.own([...new Set(line.relays.map(({ address }) => address))]);
        return this.#relays.serve(line.relays);
      case 'leadOut':
        return this.#leadOut(line);
      case 'linkMachine':
        return linkMachine(line);
      case 'nft':
        return run([helper('nft'), ...line.args], line.input, NFT_DEADLINE_MS, line.variables);
      case 'stop':
        await unlinkMachine();
        return rmSync(this.#path, { force: true });
    }
  }

  #watchIdle(): void {
    machineClock.timer(AGENT_IDLE_EXIT_MS, () => {
      if (this.#clients.size > 0 || this.#namespaces.size > 0) return;
      rmSync(this.#path, { force: true });
      this.#end();
    });
  }

  readonly #end = (): void => process.exit(0);
}

/** Its clients are our own programs. */
const decode = (text: string): AgentLine | DialLine => JSON.parse(text) as AgentLine | DialLine;

closeInherited();
process.umask(0o077);
await new Agent(process.argv[2] ?? '.').start();
