import type { NatsConnection } from 'nats';
import type { Notes } from '../port.ts';
import { NOTES_SUBJECT } from './wire.ts';

export interface NatsNotesDeps {
  /** See `NatsLink`. */
  readonly onConnection: (listener: (connection: NatsConnection) => void) => () => void;
}

/** The notes of publishers on core NATS: the server hands them on and keeps nothing. */
export function createNatsNotes({ onConnection }: NatsNotesDeps): Notes {
  let current: NatsConnection | undefined;
  onConnection((connection) => {
    current = connection;
  });
  return {
    tell: (text) => {
      if (current !== undefined && !current.isClosed() && !current.isDraining()) current.publish(NOTES_SUBJECT, text);
    },
    listen: (onNote) => {
      let unsubscribe = (): void => {};
      const forget = onConnection((connection) => {
        const subscription = connection.subscribe(NOTES_SUBJECT, {
          callback: (error, message) => {
            if (error === null) onNote(message.string());
          },
        });
        unsubscribe = () => {
          if (!connection.isClosed()) subscription.unsubscribe();
        };
      });
      return () => {
        forget();
        unsubscribe();
      };
    },
  };
}
