"""The gateway's line to a dispatcher that answers: greeting, jobs, events, questions."""

from __future__ import annotations

import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from support.fake_dispatcher import FakeDispatcher
from support.gateway_client import *  # placeholder
