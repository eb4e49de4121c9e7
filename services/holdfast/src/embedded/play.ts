import { createPlayHandler } from '../play/api.ts';
import { gatedBus, gatedClock } from '../play/gated-machine.ts';
import { gatedRuntime } from '../play/gated-runtime.ts';
import { gatedHandler, gatedTransport } from '../play/gated-transport.ts';
import { Stage, type StageDeps } from '../play/stage.ts';
import { Hands, type PlayTime } from '../play/time.ts';

/** Loaded only by a cluster that was started for faults. */
export interface PlayTools {
  readonly stage: Stage;
  readonly hands: Hands;
  readonly gatedBus: typeof gatedBus;
  readonly gatedClock: typeof gatedClock;
  readonly gatedRuntime: typeof gatedRuntime;
  readonly gatedHandler: typeof gatedHandler;
  readonly gatedTransport: typeof gatedTransport;
  readonly createPlayHandler: typeof createPlayHandler;
}

/** `time`: absent for a cluster on the clock of its machine. */
export const createPlayTools = (deps: StageDeps, time: PlayTime | undefined): PlayTools => ({
  stage: new Stage(deps),
  hands: new Hands(deps.clock, time),
  gatedBus,
  gatedClock,
  gatedRuntime,
  gatedHandler,
  gatedTransport,
  createPlayHandler,
});
