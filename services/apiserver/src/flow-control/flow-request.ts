import type { User } from '../authentication/identity.ts';
import type { RequestInfo } from '../http/request-info.ts';
import type { Route } from './route.ts';
import type { Ticket } from './ticket.ts';
import type { WorkEstimate } from './work-estimate.ts';

/** One request at its priority level, from arrival to end. */
export class FlowRequest implements Ticket {
  readonly route: Route;
  readonly distinguisher: string;
  readonly user: User;
  readonly info: RequestInfo;
  readonly hand: readonly number[];
  readonly seats: number;
  readonly extraWork: number;
  readonly arrivedAt: number;
  queue: number | undefined = undefined;
  beganAt = 0;
  expectedMs = 0;
  state: 'waiting' | 'executing' = 'waiting';
  /** Set while it waits. */
  onBegin: (() => void) | undefined = undefined;

  constructor(
    route: Route,
    { user, info, arrivedAt }: { readonly user: User; readonly info: RequestInfo; readonly arrivedAt: number },
    { seats, extraWork }: WorkEstimate,
  ) {
    this.route = route;
    this.user = user;
    this.info = info;
    this.arrivedAt = arrivedAt;
    this.distinguisher = distinguisherOf(route, user, info);
    this.hand = route.flowOf(this.distinguisher).hand;
    this.seats = seats;
    this.extraWork = extraWork;
  }

  begin(_now: number): void {
    this.onBegin?.();
  }

  misfit(): void {
    this.route.counts.misfits += 1;
  }
}

export function distinguisherOf({ method }: Pick<Route, 'method'>, user: User, info: RequestInfo): string {
  if (method === 'ByUser') return user.name;
  return method === 'ByNamespace' && info.kind === 'resource' ? info.namespace : '';
}
