import { parseCidr, parseIp } from '@holdfast/api';
import type { Hook, Match, Protocol, Rule, Table } from '../ruleset/model.ts';

/** The first packet of a flow. */
export interface Packet {
  readonly source: string;
  readonly destination: string;
  readonly protocol: Protocol;
  readonly port: number;
  /** The link that it arrives over. */
  readonly link?: string;
}

/** The machine that the packet passes. */
export interface Machine {
  readonly table: Table;
  /** Addresses of the machine itself. */
  readonly own: ReadonlySet<string>;
  /** In [0, 1): chooses among targets. */
  readonly random: number;
  /** Clients by set, as the kernel keeps them. */
  readonly clients?: Map<string, Set<string>>;
}

export interface Fate {
  readonly kind: 'sent' | 'dropped' | 'refused';
  readonly destination: string;
  readonly port: number;
  readonly isTranslated: boolean;
  readonly isMasqueraded: boolean;
}

interface State {
  destination: string;
  port: number;
  isTranslated: boolean;
  isMarked: boolean;
  isMasqueraded: boolean;
}

type Step = 'accept' | 'drop' | 'reject' | 'return' | undefined;

/** Routes a packet through a table as the kernel does: hooks in their order, and of each hook the chains by priority. */
export function routePacket(packet: Packet, machine: Machine): Fate {
  return new Walk(packet, machine).run();
}

class Walk {
  readonly #packet: Packet;
  readonly #machine: Machine;
  readonly #state: State;

  constructor(packet: Packet, machine: Machine) {
    this.#packet = packet;
    this.#machine = machine;
    const { destination, port } = packet;
    this.#state = { destination, port, isTranslated: false, isMarked: false, isMasqueraded: false };
  }

  run(): Fate {
    const isFromHere = this.#machine.own.has(this.#packet.source);
    const hooks: readonly Hook['hook'][] = isFromHere
      ? ['output', 'postrouting']
      : ['prerouting', 'input', 'forward', 'postrouting'];
    for (const hook of hooks) {
      // A packet for the machine itself is not forwarded.
      const isForMachine = this.#machine.own.has(this.#state.destination);
      if (isForMachine ? hook === 'forward' : hook === 'input') continue;
      const end = this.#runHook(hook);
      if (end !== 'sent') return this.#fate(end);
    }
    return this.#fate('sent');
  }

  #fate(kind: Fate['kind']): Fate {
    const { destination, port, isTranslated, isMasqueraded } = this.#state;
    return { kind, destination, port, isTranslated, isMasqueraded };
  }

  #runHook(hook: Hook['hook']): Fate['kind'] {
    const chains = [...this.#machine.table.chains.values()]
      .filter((chain) => chain.hook?.hook === hook)
      .toSorted((a, b) => (a.hook?.priority ?? 0) - (b.hook?.priority ?? 0));
    for (const { rules } of chains) {
      const step = this.#runRules(rules);
      if (step === 'drop') return 'dropped';
      if (step === 'reject') return 'refused';
    }
    return 'sent';
  }

  #runRules(rules: readonly Rule[]): Step {
    for (const each of rules) {
      if (!each.matches.every((match) => this.#matches(match))) continue;
      const step = this.#act(each);
      if (step === 'return') return undefined;
      if (step !== undefined) return step;
    }
    return undefined;
  }

  #act({ action }: Rule): Step {
    const { table, random, clients } = this.#machine;
    const state = this.#state;
    switch (action.kind) {
      case 'verdict':
        return this.#follow(action.verdict);
      case 'mark':
        state.isMarked = true;
        return undefined;
      case 'masquerade':
        state.isMasqueraded = true;
        return 'accept';
      case 'dispatch': {
        const value = table.elements.get(action.map)?.get(this.#keyBy(action.by));
        return value === undefined ? undefined : this.#follow(value);
      }
      case 'slots': {
        if (action.protocol !== this.#packet.protocol) return undefined;
        const slot = action.offset + Math.floor(random * action.count);
        return this.#translate(table.elements.get(action.map)?.get(`${slot}`));
      }
      case 'translate':
        return action.protocol === this.#packet.protocol
          ? this.#translate(`${action.address} . ${action.port}`)
          : undefined;
      case 'choose':
        return this.#follow(`goto ${action.chains[Math.floor(random * action.chains.length)]}`);
      case 'remember':
        clients?.set(action.set, (clients.get(action.set) ?? new Set()).add(this.#packet.source));
        return undefined;
      case 'balance':
        throw new Error('a pool without slots');
    }
  }

  #translate(target: string | undefined): Step {
    // The kernel goes on with the next rule when the map has no such slot.
    if (target === undefined) return undefined;
    const [address = '', port = ''] = target.split(' . ');
    this.#state.destination = address;
    this.#state.port = Number(port);
    this.#state.isTranslated = true;
    return 'accept';
  }

  #follow(verdict: string): Step {
    if (verdict === 'accept' || verdict === 'drop' || verdict === 'reject' || verdict === 'return') return verdict;
    const [verb, name = ''] = verdict.split(' ');
    const chain = this.#machine.table.chains.get(name);
    if (chain === undefined) throw new Error(`no chain ${name}`);
    const step = this.#runRules(chain.rules);
    // After `goto` the chain that was left is not continued.
    return verb === 'goto' && step === undefined ? 'return' : step;
  }

  #keyBy(by: 'destination' | 'port' | 'saddr' | 'daddr'): string {
    const protocol = this.#packet.protocol.toLowerCase();
    const { destination, port } = this.#state;
    if (by === 'destination') return `${destination} . ${protocol} . ${port}`;
    if (by === 'port') return `${protocol} . ${port}`;
    return by === 'saddr' ? this.#packet.source : destination;
  }

  #matches(match: Match): boolean {
    const { table, own, clients } = this.#machine;
    const { source, protocol } = this.#packet;
    const { destination, port } = this.#state;
    switch (match.kind) {
      case 'address': {
        const address = match.side === 'saddr' ? source : destination;
        const members = [...(table.elements.get(match.set)?.keys() ?? []), ...(clients?.get(match.set) ?? [])];
        return isInRanges(address, members) !== (match.not === true);
      }
      case 'ranges':
        return isInRanges(match.side === 'saddr' ? source : destination, match.ranges) !== (match.not === true);
      case 'link':
        return this.#packet.link === match.name && source === match.source;
      case 'local':
        return own.has(match.side === 'saddr' ? source : destination);
      case 'pair':
        return table.elements.get(match.set)?.has(`${source} . ${destination}`) === true;
      case 'destination':
        return table.elements.get(match.set)?.has(`${destination} . ${protocol.toLowerCase()} . ${port}`) === true;
      case 'ports':
        return (
          match.protocol === protocol && (match.ports.length === 0 || match.ports.some((each) => isInPorts(port, each)))
        );
      case 'flow':
        // Only first packets are routed here.
        return false;
      case 'translated':
        return this.#state.isTranslated;
      case 'marked':
        return this.#state.isMarked;
    }
  }
}

function isInPorts(port: number, range: string): boolean {
  const [first = '', last = first] = range.split('-');
  return Number(first) <= port && port <= Number(last);
}

function isInRanges(address: string, ranges: readonly string[]): boolean {
  const { family, value } = parseIp(address) ?? { family: undefined, value: 0n };
  return ranges.some((range) => {
    const [first, last] = endsOf(range);
    return first.family === family && first.value <= value && value <= last.value;
  });
}

type Ip = NonNullable<ReturnType<typeof parseIp>>;

function endsOf(range: string): readonly [Ip, Ip] {
  const cidr = parseCidr(range);
  if (cidr !== undefined) {
    const size = 1n << BigInt((cidr.ip.family === 'IPv4' ? 32 : 128) - cidr.prefix);
    const first = (cidr.ip.value / size) * size;
    return [
      { ...cidr.ip, value: first },
      { ...cidr.ip, value: first + size - 1n },
    ];
  }
  const [first = '', last = first] = range.split('-');
  const ends = [parseIp(first), parseIp(last)];
  if (ends[0] === undefined || ends[1] === undefined) throw new Error(`not a range: ${range}`);
  return [ends[0], ends[1]];
}
