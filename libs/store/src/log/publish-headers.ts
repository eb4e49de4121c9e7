import { headers, type MsgHdrs } from 'nats';

const made = new Map<string, MsgHdrs>();

/** No message id: the state machines recognize repetitions, for as long as it takes. */
export function headersOf(stream: string): MsgHdrs {
  const existing = made.get(stream);
  if (existing !== undefined) return existing;
  const created = headers();
  created.set('Nats-Expected-Stream', stream);
  made.set(stream, created);
  return created;
}
