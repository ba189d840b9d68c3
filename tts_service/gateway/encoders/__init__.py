"""Audio formats of the answers: 16-bit mono PCM in, bytes out, piece by piece. One object a request."""

from tts_service.gateway.encoders.base import Encoder as Encoder
from tts_service.gateway.encoders.events import EventEncoder as EventEncoder
from tts_service.gateway.encoders.formats import Format as Format
from tts_service.gateway.encoders.formats import check_rate as check_rate
from tts_service.gateway.encoders.formats import codec_delay as codec_delay
from tts_service.gateway.encoders.formats import fitting_rate as fitting_rate
from tts_service.gateway.encoders.formats import is_telephony as is_telephony
from tts_service.gateway.encoders.formats import make_encoder as make_encoder
from tts_service.gateway.encoders.formats import suffix_of as suffix_of
from tts_service.gateway.encoders.mp3 import MP3_RATES_HZ as MP3_RATES_HZ
from tts_service.gateway.encoders.plain import UNKNOWN_SIZE as UNKNOWN_SIZE
from tts_service.gateway.encoders.words import CaptionEncoder as CaptionEncoder
from tts_service.gateway.encoders.words import JsonEncoder as JsonEncoder
from tts_service.gateway.encoders.words import SpeechWithWords as SpeechWithWords
