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
export { asksForUpgrade, asksForWebSocket, listOf, offeredProtocols, webSocketHeaders } from './handshake.ts';
