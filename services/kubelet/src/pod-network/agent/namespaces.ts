import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gatewayOf, nextAddress, readNetwork } from '../../domain/address-pool.ts';
import { hasHelper, helper } from '../../runtime/helpers.ts';
import { PARALLEL_CHANGES } from './limits.ts';
import {
  addressCommands,
  BASE_COMMANDS,
  BASE_SETTINGS,
  linkCommands,
  type PodLink,
  podCommands,
  SHARE_RULES,
} from './plan.ts';
import type { Attachment } from './protocol.ts';
import { run } from './run.ts';

/** The ports that every user may listen on begin at 0: the pod has them all for itself. Only its loopback link has IPv6. */
const POD_SCRIPT = `{
  echo 0 >/proc/sys/net/ipv4/ip_unprivileged_port_start
  echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
} 2>/dev/null; exec "$@"`;

const ip = (): readonly string[] => [helper('ip'), '-batch', '-'];

interface Kept extends Attachment {
  readonly link: PodLink;
}

/** Where a pod gets its address, and with which others it shares what all have together. */
interface Place {
  readonly network: string;
  readonly group: string;
}

/**
 * The namespaces of pods. Each is kept by a mount that only this process's mount namespace has, so all of them go with
 * this process, however it ends.
 */
export class Namespaces {
  readonly #directory: string;
  readonly #kept = new Map<string, Promise<Kept>>();
  /** The group of each address that is in use. */
  readonly #used = new Map<string, string>();
  readonly #last = new Map<string, string>();
  #count = 0;
  #free = PARALLEL_CHANGES;
  readonly #waiting: (() => void)[] = [];

  /** `directory` holds the files that the namespaces are mounted on. */
  constructor(directory: string) {
    this.#directory = directory;
  }

  async begin(): Promise<void> {
    rmSync(this.#directory, { recursive: true, force: true });
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
    await run(ip(), BASE_COMMANDS);
    // Engines show it read-only; a machine's own is no mount. Nobody else has this mount namespace.
    await run([helper('mount'), '-o', 'remount,bind,rw', '/proc/sys']).catch(() => undefined);
    for (const setting of BASE_SETTINGS) set(setting);
    if (hasHelper('nft')) await run([helper('nft'), '-f', '-'], SHARE_RULES).catch(tell);
  }

  get size(): number {
    return this.#kept.size;
  }

  async attach(key: string, place: Place): Promise<Attachment> {
    const made = this.#kept.get(key) ?? this.#inTurn(() => this.#make(key, place));
    this.#kept.set(key, made);
    try {
      return publicPart(await made);
    } catch (error) {
      if (this.#kept.get(key) === made) this.#kept.delete(key);
      throw error;
    }
  }

  /** Its processes must have ended. */
  async detach(key: string): Promise<void> {
    const kept = await this.#kept.get(key)?.catch(() => undefined);
    if (kept === undefined) return;
    await this.#inTurn(() => this.#remove(kept.link));
    this.#kept.delete(key);
    this.#used.delete(kept.address);
  }

  async list(): Promise<readonly Attachment[]> {
    const all = await Promise.allSettled(this.#kept.values());
    return all.flatMap((each) => (each.status === 'fulfilled' ? [publicPart(each.value)] : []));
  }

  find(key: string): Promise<Attachment> | undefined {
    return this.#kept.get(key);
  }

  /** The group of the pod with this address. */
  readonly groupOf = (address: string): string => this.#used.get(address) ?? '';

  async own(addresses: readonly string[]): Promise<void> {
    await run(ip(), addressCommands(addresses));
  }

  async #make(key: string, place: Place): Promise<Kept> {
    const link = this.#newLink(place);
    const file = this.#file(link);
    try {
      closeSync(openSync(file, 'a', 0o600));
      const commands = podCommands(link, `/proc/${process.pid}/ns/net`);
      await run([helper('unshare'), `--net=${file}`, '--', '/bin/sh', '-c', POD_SCRIPT, 'holdfast', ...ip()], commands);
      await run(ip(), linkCommands(link));
    } catch (error) {
      await this.#remove(link);
      this.#used.delete(link.address);
      throw error;
    }
    const { pid: agent } = process;
    return { key, address: link.address, path: `/proc/${agent}/root${file}`, agent, link };
  }

  #newLink({ network: text, group }: Place): PodLink {
    const network = readNetwork(text);
    if (network === undefined) throw new Error(`"${text}" is not an IPv4 network for pods`);
    const address = nextAddress(network, (each) => this.#used.has(each), this.#last.get(text));
    if (address === undefined) throw new Error(`every address of ${text} is in use`);
    this.#used.set(address, group);
    this.#last.set(text, address);
    this.#count += 1;
    return { name: `pod${this.#count}`, address, gateway: gatewayOf(network) };
  }

  /** What was not made, or went with the last process of the pod, is not there. */
  async #remove(link: PodLink): Promise<void> {
    await run([helper('ip'), 'link', 'delete', link.name]).catch(() => undefined);
    await run([helper('umount'), this.#file(link)]).catch(() => undefined);
    rmSync(this.#file(link), { force: true });
  }

  #file({ name }: PodLink): string {
    return join(this.#directory, name);
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free === 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#free -= 1;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}

/** It may be there already, and then need not be writable. A kernel without IPv6 has no file for it. */
function set([file, value]: (typeof BASE_SETTINGS)[number]): void {
  if (existsSync(file) && readFileSync(file, 'utf8').trim() !== value) writeFileSync(file, value);
}

/** In the log of the agent. Pods work without shares. */
const tell = (error: unknown): void =>
  void process.stderr.write(`pods have no shares of the servers: ${String(error)}\n`);

const publicPart = ({ key, address, path, agent }: Kept): Attachment => ({ key, address, path, agent });
