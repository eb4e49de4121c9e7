import type { Answer, OptAnswer, Packet, Question } from 'dns-packet';
import { DNS_EDNS_BYTES, NAME_TTL_SECONDS } from './limits.ts';
import { type Found, type FoundRecord, type KnownNames, lookUp } from './look-up.ts';

/** The last four bits of a header's flags (RFC 1035, 4.1.1). */
export const RESPONSE_CODES = { serverFailure: 2, noSuchName: 3, notImplemented: 4 } as const;

const AUTHORITATIVE = 1 << 10;
const RECURSION_DESIRED = 1 << 8;
const RECURSION_AVAILABLE = 1 << 7;

export type Reply =
  | { readonly kind: 'answer'; readonly packet: Packet }
  /** Another server must answer. */
  | { readonly kind: 'forward' }
  /** The rest of the answer comes from another server about `target`. */
  | { readonly kind: 'alias'; readonly packet: Packet; readonly target: string };

/** Returns this node's answer to a valid query. */
export function replyTo(names: KnownNames, query: Packet): Reply {
  const question = query.questions?.[0];
  if (question === undefined || query.questions?.length !== 1) {
    return { kind: 'answer', packet: respond(query, { code: RESPONSE_CODES.notImplemented }) };
  }
  const found = lookUp(names, question.name, question.type);
  switch (found.kind) {
    case 'outside':
      return { kind: 'forward' };
    case 'missing':
      return { kind: 'answer', packet: respond(query, { code: RESPONSE_CODES.noSuchName, authorities: [soa(names)] }) };
    case 'alias':
      return aliased(names, query, question, found.target);
    case 'records':
      return { kind: 'answer', packet: withRecords(names, query, question, found) };
  }
}

/** A name of the same cluster is followed here. */
function aliased(names: KnownNames, query: Packet, question: Question, target: string): Reply {
  const alias: Answer = { type: 'CNAME', name: question.name, ttl: NAME_TTL_SECONDS, data: target };
  if (question.type === 'CNAME') return { kind: 'answer', packet: respond(query, { answers: [alias] }) };
  const behind = lookUp(names, target, question.type);
  if (behind.kind === 'outside') return { kind: 'alias', packet: respond(query, { answers: [alias] }), target };
  const answers = behind.kind === 'records' ? behind.records.map((each) => answerOf(target, each)) : [];
  return { kind: 'answer', packet: respond(query, { answers: [alias, ...answers] }) };
}

function withRecords(
  names: KnownNames,
  query: Packet,
  { name, type }: Question,
  { records }: Extract<Found, { kind: 'records' }>,
): Packet {
  if (type === 'SOA' && name.toLowerCase() === names.domain) return respond(query, { answers: [soa(names)] });
  if (records.length === 0) return respond(query, { authorities: [soa(names)] });
  return respond(query, { answers: records.map((each) => answerOf(name, each)) });
}

function answerOf(name: string, record: FoundRecord): Answer {
  if (record.type === 'TXT') return { type: 'TXT', name, ttl: NAME_TTL_SECONDS, data: [record.data] };
  if (record.type !== 'SRV') return { type: record.type, name, ttl: NAME_TTL_SECONDS, data: record.data };
  const { port, target } = record;
  return { type: 'SRV', name, ttl: NAME_TTL_SECONDS, data: { port, target, priority: 0, weight: 100 } };
}

/** Says how long a name that is not there may be remembered. */
function soa({ domain }: KnownNames): Answer {
  const times = { serial: 1, refresh: 7_200, retry: 1_800, expire: 86_400, minimum: NAME_TTL_SECONDS };
  const data = { mname: `ns.dns.${domain}`, rname: `hostmaster.${domain}`, ...times };
  return { type: 'SOA', name: domain, ttl: NAME_TTL_SECONDS, data };
}

/** RFC 6891: who asks with this record gets one in the answer. */
const asksWithExtensions = ({ additionals = [] }: Packet): boolean => additionals.some(({ type }) => type === 'OPT');

const EXTENSIONS: OptAnswer = {
  type: 'OPT',
  name: '.',
  udpPayloadSize: DNS_EDNS_BYTES,
  extendedRcode: 0,
  ednsVersion: 0,
  flags: 0,
  flag_do: false,
  options: [],
};

interface ResponseParts {
  readonly code?: number;
  readonly answers?: Answer[];
  readonly authorities?: Answer[];
}

export function respond(query: Packet, { code = 0, answers = [], authorities = [] }: ResponseParts): Packet {
  const kept = (query.flags ?? 0) & RECURSION_DESIRED;
  return {
    type: 'response',
    ...(query.id === undefined ? {} : { id: query.id }),
    flags: AUTHORITATIVE | RECURSION_AVAILABLE | kept | code,
    // Of many questions none is answered, and they would make the answer longer than a message can be.
    questions: (query.questions ?? []).slice(0, 1),
    answers,
    authorities,
    ...(asksWithExtensions(query) ? { additionals: [EXTENSIONS] } : {}),
  };
}
