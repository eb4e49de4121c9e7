export { acceptWebSocket, type WebSocketConnection } from './connection.ts';
export {
  acceptKey,
  CLOSE_CODE,
  encodeFrame,
  type FrameEvents,
  FrameReader,
  OPCODE,
  WebSocketProtocolError,
} from './frames.ts';
export {
  asksForUpgrade,
  asksForWebSocket,
  bearerProtocols,
  listOf,
  offeredProtocols,
  webSocketHeaders,
  withoutBearerProtocols,
} from './handshake.ts';
